"""Findings of an audit as frozen values, and the words for each finding.

A report's `verdict` is its answer in one to three sentences; `rows` are the findings that stand below it.
"""

import html
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..support.display import Shown
from ..support.table import Table

SAMPLES = ("policy", "old_policy", "reference", "filtered")
"""Origin of the audited samples; "filtered" are correct samples of the reference."""
REWARD, ENTROPY = "minus expected reward", "entropy(pi)"
PER_TOKEN = ("", ", per token", ", per token squared")
"""Suffixes by the power of the number of tokens that a constant is divided by."""
ANSWERS, TOKENS = "answers", "single tokens"
SEVERAL = "batches of several sequences"
"""Name of the batches on which a loss may fail and still be audited on single sequences."""


class AuditError(ValueError):
    """Raised when something cannot be audited; the message says why."""


@dataclass(frozen=True)
class Finding:
    """One finding: its words, and its data by name, which `--json` writes in the finding's place."""

    words: str
    data: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        if name not in (data := self.__dict__.get("data", {})):
            raise AttributeError(name)
        return data[name]


class LossReport(Shown):
    """Common part of all audit reports; `verdict` is the answer in one to three sentences."""

    verdict: str

    @property
    def failed(self) -> bool:
        """True if the function could be evaluated on no problem."""
        return False

    def rows(self) -> Sequence[tuple[str, str]]:
        """Return the findings as pairs (name, words)."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        # A finding's data stand in its place.
        return asdict(self, dict_factory=lambda pairs: dict(pairs).get("data", dict(pairs)))  # type: ignore[call-overload]

    def summary(self) -> str:
        """Return the answer and the findings."""
        verdict = textwrap.fill(self.verdict, 100, subsequent_indent="  ")
        findings = (f"  {name}: {words}" for name, words in self.rows())
        return "\n".join((f"{type(self).__name__}: {verdict}", *findings))

    def tables(self) -> Sequence[Table]:
        """Return the findings as a table."""
        return (Table.from_rows(("finding", "words"), self.rows()),)

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.verdict)}</p>{self.tables()[0].html()}"


PADDING: Mapping[str, str] = {
    "ignores its mask": "what stands at masked tokens changes it",
    "fills holes": "masked tokens between an answer's own, as a tool's are, change it",
    "divides by the padded length": "it is divided by the padded length",
    "other": "it depends on how far the batch is padded",
    "ignored": "none changes it, behind an answer or within it, as a tool's",
    "no mask": "none changes it, behind an answer or within it, as a tool's",
}
"""Effect of masked tokens on a loss."""


def reduction(batch: str, tokens: str, padding: str) -> Finding:
    """Finding on the reduction of a loss, such as: token mean over the batch.

    Args:
        batch: "mean" or "sum" of its sequences' losses; "token mean", weighted by lengths; "coupled", none of
            these; "pairs only", if it fails on a single sequence; "unknown", if it fails on pairs.
        tokens: "mean" if a sequence repeated twice has the same loss, "sum" for twice the loss, else "other".
        padding: A key of PADDING; "no mask" if the loss takes none.
    """
    inner = {"mean": "mean over each sequence's tokens, ", "sum": "sum over tokens, "}
    words = f"{inner.get(tokens, '')}{batch} over sequences"
    if padding == "divides by the padded length":
        words = f"sum over tokens, divided by the padded length, {batch} over sequences"
    elif batch not in ("mean", "sum"):
        words = f"{batch} over the batch"
    return Finding(words, {"batch": batch, "tokens": tokens, "padding": padding})


@dataclass(frozen=True)
class Match:
    """A quantity that an audit found: `exact` if it is `constant` times the named one on every problem.

    `per_token` says by which power of the number of tokens the constant is divided. Where it is not exact,
    `name` is the nearest, `angle` the largest angle to it on any problem, in degrees (gradients; to its
    opposite where `constant` is negative), and `bias` the range of the relative errors (values). `name` is
    "zero" for a quantity that vanishes, "none" if there is nothing near, and "failed" where it could not be
    evaluated. A sum has `terms`, (coefficient, quantity) each.
    """

    name: str
    exact: bool
    constant: float | None = None
    per_token: int = 0
    angle: float | None = None
    bias: tuple[float, float] | None = None
    terms: tuple[tuple[float, str], ...] = ()

    @property
    def all_terms(self) -> tuple[tuple[float, str], ...]:
        """(coefficient, name) of each term of the matched sum, or of the single match."""
        return self.terms or ((self.constant or 1.0, self.name),)

    @property
    def words(self) -> str:
        """Words such as: the reward's policy gradient plus 0.04 times the forward KL of each token."""
        if self.name in ("zero", "failed"):
            return {"zero": "zero", "failed": "-"}[self.name]
        if not self.exact:
            return f"none of the known quantities; {self.near_words}"
        words = " plus ".join(_term(constant, name) for constant, name in self.all_terms)
        divided = all(name.endswith(PER_TOKEN[1]) for _, name in self.all_terms)
        power = PER_TOKEN[self.per_token or int(divided)]
        per_token = power.replace("per token", "divided by the number of tokens")
        return words.replace("plus minus", "minus") + per_token

    @property
    def near_words(self) -> str:
        """Words that name the nearest quantity (or its negative) and the bias or angle to it."""
        if self.bias is not None:
            return f"nearest is {plain(self.name)} ({self.bias[0]:+.0%} to {self.bias[1]:+.0%})"
        if self.angle is None:
            return "nothing is near"
        opposite = "the opposite of " if self.constant == -1 else ""
        unit = "degrees" if self.angle >= 1.5 else "degree"
        angle = f"up to {self.angle:.0f} {unit}" if self.angle >= 1 else "under 1 degree"
        return f"nearest is {opposite}{plain(self.name)} ({angle} off)"


def plain(name: str) -> str:
    """Quantity's name as in a sentence, such as: the forward KL(ref||pi) of each token."""
    bare = name.removesuffix(PER_TOKEN[1])
    if bare == REWARD:
        return "the reward's policy gradient"
    if bare.startswith("token sum of "):
        return f"the {bare.removeprefix('token sum of ').split(' on the samples')[0]} of each token"
    return f"the {bare}"


def _term(constant: float, name: str) -> str:
    size = abs(constant)
    if "entropy" in name:
        return f"an entropy {'bonus' if constant < 0 else 'penalty'} of {size:.6g}"
    times = "" if abs(size - 1) < 1e-6 else f"{size:.6g} times "
    return f"{'minus ' if constant < 0 else ''}{times}{plain(name)}"


@dataclass(frozen=True)
class Limit:
    """Range in which an exact match holds; infinite where no end was found.

    Attributes:
        what: "log(pi/ref)" or "log(pi/old)" of a token, or "|A|" (whose least is 0).
        low, high: Ends of the range.
        example, place: Error of the match at a token beyond, and the log-probabilities there.
        level: "token" or "sum" if the bound is on every token's ratio, or on their sum, in answers of any
            length; empty if it holds in answers of two tokens only.
    """

    what: str
    low: float
    high: float
    example: str
    place: str = ""
    level: str = "token"

    @property
    def words(self) -> str:
        """Words such as: every ratio pi/old is between 0.8 and 1.2, as it is clipped."""
        low, high = self.low, self.high
        if low == high:
            return "every log ratio is zero"
        levels = {
            "token": "every",
            "sum": "the sum over an answer of the",
            "": "in answers of two tokens every",
        }
        what = f"{levels[self.level]} {self.what}"
        if self.what == "|A|":
            what, low = "every advantage's size", low or -math.inf
        if self.what == "log(pi/old)":
            what = what.replace("log(pi/old)", "ratio pi/old").replace("sum", "product")
            low, high = math.exp(low) or -math.inf, math.exp(high)
        if math.isinf(low):
            return f"{what} is at most {high:.3g}"
        if math.isinf(high):
            return f"{what} is at least {low:.3g}"
        return f"{what} is between {low:.3g} and {high:.3g}"


@dataclass(frozen=True, repr=False)
class AuditReport(LossReport):
    """Findings about one loss on one kind of samples.

    Attributes:
        loss, samples, `verdict`: Name, origin of the samples, and the answer in sentences.
        value: Match of the value.
        gradient, sequence_gradient, unequal_gradient: Matches on single tokens, on answers of several tokens
            of one length, and of unequal lengths (a token mean in the limit of large batches).
        descended, scope: Match that is reported, on ANSWERS or TOKENS.
        limits: Ranges in which an exact match holds.
        terms, reduction, batches: Parts, reduction, and gradients by batch size if answers are coupled.
        precision: "float64", "float32", or "16 bits", too coarse to match.
        minimiser, acts_on, selects: See `find_minimiser` and `convergence_of`.
        extremes: Overflow by dtype.
        dead_zones, stopped: Intervals of log(pi/ref) without a gradient of the penalty, and ratios of zero
            gradient at advantages of 1 and -1.
        failures: Problems on which the loss failed.
        equal_groups: Gradient if all advantages are zero.
        mixes_answers: True if an answer's gradient depends on the advantages of others.
        declared: Sentence on the declared policy loss that it is.
    """

    loss: str
    samples: str
    verdict: str
    value: Match
    gradient: Match
    sequence_gradient: Match
    unequal_gradient: Match
    descended: Match
    scope: str
    limits: tuple[Limit, ...]
    terms: tuple[Finding, ...]
    reduction: Finding | None
    precision: str
    batches: Finding | None
    minimiser: Finding | None
    acts_on: str
    selects: str
    extremes: tuple[Finding, ...]
    dead_zones: tuple[tuple[float, float], ...]
    failures: tuple[Finding, ...]
    stopped: tuple[Finding, ...] = ()
    equal_groups: Finding | None = None
    mixes_answers: bool = False
    declared: str = ""

    @property
    def gradient_words(self) -> str:
        """Words on the matched gradient and its scale, such as: divided by the padded length."""
        words = self.descended.words
        if self.reduction and self.descended.exact and self.descended.name != "zero":
            padded = self.reduction.padding == "divides by the padded length"
            words += ", divided by the padded length" if padded else ""
            words += ", times the number of answers in a micro-batch" if self.reduction.batch == "sum" else ""
        return words

    @property
    def failed(self) -> bool:
        """True if the loss could be evaluated on no problem."""
        return "failed" == self.gradient.name == self.sequence_gradient.name

    @property
    def drops_penalty(self) -> bool:
        """True if a penalty beside the reward vanishes where all advantages are zero."""
        if self.equal_groups is None or self.equal_groups.gradient.name not in ("zero", "failed"):
            return False
        penalties = [name for _, name in self.descended.terms if not name.startswith(REWARD)]
        return self.scope == ANSWERS and self.descended.exact and bool(penalties)

    @property
    def extent(self) -> str:
        """Range in which the exact match is true. Empty if nothing is exact or the range was not searched."""
        if not self.descended.exact or self.batches is not None:
            return ""
        extents = [f"as long as {limit.words} ({limit.place or limit.example})" for limit in self.limits]
        return "\n".join(extents) or "wherever tried (log ratios to +-20)"

    @property
    def end(self) -> str:
        """Words for the policy that training converges to at a small beta, and for which answer lengths."""
        exact = self.sequence_gradient.exact and self.selects != "none"
        if not exact or self.unequal_gradient.exact or self.unequal_gradient.name == "failed":
            return self.selects
        return f"{self.selects}, where all lengths are equal"

    @property
    def overflow(self) -> str:
        """Words that say beyond which log ratios the loss overflows or is nan, by dtype."""
        by_words: dict[str, list[str]] = {}
        for extremes in self.extremes:
            by_words.setdefault(extremes.words, []).append(extremes.dtype)
        return "; ".join(f"{' and '.join(dtypes)} {words}" for words, dtypes in by_words.items() if words)

    def rows(self) -> Sequence[tuple[str, str]]:
        """Return the non-empty findings as (name, words); only the failures if all problems failed."""
        failures = ("failures", "\n".join(failure.words for failure in self.failures))
        if self.failed:
            return (failures,)
        lengths = (self.unequal_gradient, self.sequence_gradient)
        one, other = ((match.name.replace(PER_TOKEN[1], ""), match.exact) for match in lengths)
        equal = self.equal_groups.words if self.equal_groups else ""
        dead = [f"[{low:.3g}, {high:.3g}]" for low, high in self.dead_zones]
        terms = [(f"{term.name} term", term.words) for term in self.terms]
        findings = (
            ("value estimates", "" if self.value.name == "none" else self.value.words),
            ("gradient", self.gradient_words),
            ("on", self.scope if self.scope == TOKENS else ""),
            ("exact", self.extent),
            *terms,
            ("where lengths differ", self.unequal_gradient.words if one != other else ""),
            ("adds up", self.reduction.words if self.reduction else ""),
            ("masked tokens", PADDING[self.reduction.padding] if self.reduction else ""),
            ("gradient in batches", self.batches.words if self.batches else ""),
            ("its KL acts on", "" if self.acts_on == "not known" else self.acts_on),
            ("converges to, small beta", self.end),
            ("minimiser", self.minimiser.words if self.minimiser else ""),
            ("overflow", self.overflow),
            ("no KL gradient at", f"log(pi/ref) in {', '.join(dead)}" if dead else ""),
            ("zero gradient of a single token at", ", ".join(zone.words for zone in self.stopped)),
            ("advantages of zero", "" if ("KL term", equal) in terms else equal),
            ("computes in", "" if self.precision == "float64" else self.precision),
            failures,
        )
        return tuple((name, words) for name, words in findings if words not in ("", "-", "none"))
