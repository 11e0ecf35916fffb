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
"""Where the audited samples come from; "filtered" are correct samples of the reference."""
REWARD, ENTROPY = "minus expected reward", "entropy(pi)"
PER_TOKEN = ("", ", per token", ", per token squared")
"""By the power of the number of tokens that a constant is divided by."""
ANSWERS, TOKENS = "answers", "single tokens"
SEVERAL = "batches of several sequences"
"""Where a loss fails that is audited on single sequences all the same."""


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
    """Common part of all audit reports; `verdict` says in one to three sentences what was found."""

    verdict: str

    @property
    def failed(self) -> bool:
        """True if it could be evaluated on no problem."""
        return False

    def rows(self) -> Sequence[tuple[str, str]]:
        """The findings, (name, words) each."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        # A finding's data stand in its place.
        return asdict(self, dict_factory=lambda pairs: dict(pairs).get("data", dict(pairs)))  # type: ignore[call-overload]

    def summary(self) -> str:
        """The answer and the findings."""
        verdict = textwrap.fill(self.verdict, 100, subsequent_indent="  ")
        findings = (f"  {name}: {words}" for name, words in self.rows())
        return "\n".join((f"{type(self).__name__}: {verdict}", *findings))

    def tables(self) -> Sequence[Table]:
        """The findings."""
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
    """What the loss of a batch is made of, such as: token mean over the batch.

    Args:
        batch: "mean" or "sum" of its sequences' losses; "token mean", their mean weighted by their lengths;
            "coupled", none of these; "pairs only", if it fails on a single sequence; "unknown", if it fails
            on pairs.
        tokens: Whether a sequence twice as long with the same tokens has the same loss ("mean"), twice the
            loss ("sum"), or neither ("other").
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
        """Its terms, also of what is no sum."""
        return self.terms or ((self.constant or 1.0, self.name),)

    @property
    def words(self) -> str:
        """Such as: the reward's policy gradient plus 0.04 times the forward KL(ref||pi) of each token."""
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
        """The nearest, or its opposite, and how far off it is."""
        if self.bias is not None:
            return f"nearest is {plain(self.name)} ({self.bias[0]:+.0%} to {self.bias[1]:+.0%})"
        if self.angle is None:
            return "nothing is near"
        opposite = "the opposite of " if self.constant == -1 else ""
        unit = "degrees" if self.angle >= 1.5 else "degree"
        angle = f"up to {self.angle:.0f} {unit}" if self.angle >= 1 else "under 1 degree"
        return f"nearest is {opposite}{plain(self.name)} ({angle} off)"


def plain(name: str) -> str:
    """A quantity in words: the forward KL(ref||pi) of each token; the reward's policy gradient."""
    bare = name.removesuffix(PER_TOKEN[1])
    if bare == REWARD:
        return "the reward's policy gradient"
    if bare.startswith("token sum of "):
        return f"the {bare.removeprefix('token sum of ').split(' on the samples')[0]} of each token"
    return f"the {bare}"


def _term(constant: float, name: str) -> str:
    """A term with its coefficient: to raise an entropy is a bonus."""
    size = abs(constant)
    if "entropy" in name:
        return f"an entropy {'bonus' if constant < 0 else 'penalty'} of {size:.6g}"
    times = "" if abs(size - 1) < 1e-6 else f"{size:.6g} times "
    return f"{'minus ' if constant < 0 else ''}{times}{plain(name)}"


@dataclass(frozen=True)
class Limit:
    """Between which values of `what` an exact match was found to hold; infinite where no end was found.

    what: "log(pi/ref)" or "log(pi/old)" of a token, or "|A|" (whose least is 0); `example` says how far off
    the match is at a token beyond, `place` at which log-probabilities. `level` is that of
    `log_ratios.level_of`.
    """

    what: str
    low: float
    high: float
    example: str
    place: str = ""
    level: str = "token"

    @property
    def words(self) -> str:
        """Such as: every ratio pi/old is between 0.8 and 1.2, as it is clipped."""
        low, high = self.low, self.high
        if low == high:
            return "every log ratio is zero"
        levels = {"token": "every", "": "in answers of two tokens every"}
        what = f"{levels.get(self.level) or f'the {self.level} over an answer of the'} {self.what}"
        if self.what == "|A|":
            what, low = "every advantage's size", low or -math.inf
        if self.what == "log(pi/old)":
            what = what.replace("log(pi/old)", "ratio pi/old")
            what = what.replace("mean", "geometric mean").replace("sum", "product")
            low, high = math.exp(low) or -math.inf, math.exp(high)
        if math.isinf(low):
            return f"{what} is at most {high:.3g}"
        if math.isinf(high):
            return f"{what} is at least {low:.3g}"
        return f"{what} is between {low:.3g} and {high:.3g}"


@dataclass(frozen=True, repr=False)
class AuditReport(LossReport):
    """Everything an audit finds about one loss on one kind of samples.

    `gradient` is matched on single tokens, `sequence_gradient` on answers of several of one length,
    `unequal_gradient` on answers whose lengths differ, a token mean there in the limit of large batches.
    `descended` is what it is reported to minimise, on `scope`: what is exact on answers, there or near log
    ratios of zero, or else on single tokens, or else the nearest; `limits` say how far an exact one holds.
    `terms` has the parts of a loss that has several. `reduction` says how tokens and sequences are added up;
    `precision` is "float32" for a loss that rounds to it, and agreement then is that of float32; "16 bits"
    for one that rounds more, too coarse to match. A loss that couples its batch has `batches`, and is matched
    on pairs. `acts_on` and `selects` are those of `convergence_of`:
    `selects` is a key of `kl_terms.ENDS`, or "none". `dead_zones` are intervals of x = log(pi/ref) from -30
    to 30 where the gradient of a sampled token is zero away from x = 0, at an advantage of zero, the
    penalty's. `stopped` are the ratios of zero gradient at advantages of 1 and -1. `equal_groups` is of
    answers whose advantages are all zero. `advantages`: "one an answer", shape (batch,), or "one a token".
    `mixes_answers`: an answer's gradient depends on the advantages of the others. `declared` is a sentence,
    which declared policy loss it is.
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
    advantages: str = "one a token"
    mixes_answers: bool = False
    declared: str = ""

    @property
    def gradient_words(self) -> str:
        """Whose gradient it is, with what it is scaled by: such as, times the answers of a micro-batch."""
        words = self.descended.words
        if self.reduction and self.descended.exact and self.descended.name != "zero":
            padded = self.reduction.padding == "divides by the padded length"
            words += ", divided by the padded length" if padded else ""
            words += ", times the number of answers in a micro-batch" if self.reduction.batch == "sum" else ""
        return words

    @property
    def failed(self) -> bool:
        """True if it could be evaluated on no problem."""
        return "failed" == self.gradient.name == self.sequence_gradient.name

    @property
    def drops_penalty(self) -> bool:
        """True if a loss that has a penalty beside the reward has none where all advantages are zero."""
        if self.equal_groups is None or self.equal_groups.gradient.name not in ("zero", "failed"):
            return False
        penalties = [name for _, name in self.descended.terms if not name.startswith(REWARD)]
        return self.scope == ANSWERS and self.descended.exact and bool(penalties)

    @property
    def extent(self) -> str:
        """Range in which the exact match holds. Empty if nothing is exact or the range was not searched."""
        if not self.descended.exact or self.batches is not None:
            return ""
        extents = [f"as long as {limit.words} ({limit.place or limit.example})" for limit in self.limits]
        return "\n".join(extents) or "wherever tried (log ratios to +-20)"

    @property
    def end(self) -> str:
        """What training converges to with a small beta, by name, and for which lengths that is known."""
        exact = self.sequence_gradient.exact and self.selects != "none"
        if not exact or self.unequal_gradient.exact or self.unequal_gradient.name == "failed":
            return self.selects
        return f"{self.selects}, where all lengths are equal"

    @property
    def overflow(self) -> str:
        """From which log ratio on each dtype overflows, or is nan."""
        by_words: dict[str, list[str]] = {}
        for extremes in self.extremes:
            by_words.setdefault(extremes.words, []).append(extremes.dtype)
        return "; ".join(f"{' and '.join(dtypes)} {words}" for words, dtypes in by_words.items() if words)

    def rows(self) -> Sequence[tuple[str, str]]:
        """The findings that say something, (name, words) each; of a loss that was not evaluated, why."""
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
            ("zero gradient at", ", ".join(zone.words for zone in self.stopped)),
            ("advantages of zero", "" if ("KL term", equal) in terms else equal),
            ("computes in", "" if self.precision == "float64" else self.precision),
            failures,
        )
        return tuple((name, words) for name, words in findings if words not in ("", "-", "none"))
