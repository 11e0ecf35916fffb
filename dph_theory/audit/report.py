"""What an audit finds, as frozen values, and what it says of them: one sentence, and cells of a table."""

import html
import math
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..support.notebook import Shown
from ..support.table import Table

SAMPLES = ("policy", "old_policy", "reference", "filtered")
"""Where the audited samples come from; "filtered" are correct samples of the reference."""
REWARD, ENTROPY = "minus expected reward", "entropy(pi)"
PER_TOKEN = ("", ", per token", ", per token squared")
"""By the power of the number of tokens that a constant is divided by."""


class LossReport(Shown):
    """What every audit's report can do; `verdict` says in one sentence what was found."""

    verdict: str

    def rows(self) -> Sequence[tuple[str, str]]:
        """The findings, (name, words) each."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return asdict(self)  # type: ignore[call-overload]

    def summary(self) -> str:
        """The verdict and the findings."""
        said = textwrap.fill(self.verdict, 100, subsequent_indent="  ")
        return "\n".join((f"{type(self).__name__}: {said}", *(f"  {k}: {words}" for k, words in self.rows())))

    def tables(self) -> Sequence[Table]:
        """The findings."""
        return (Table.of(("finding", "words"), self.rows()),)

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.verdict)}</p>{self.tables()[0].html()}"


@dataclass(frozen=True)
class AddingUp:
    """What the loss of a batch is made of.

    batch: "mean" or "sum" of its sequences' losses; "token mean", their mean weighted by their lengths;
    "coupled", none of these; "pairs only", if it fails on a single sequence; "unknown", if it fails on pairs.
    tokens: whether a sequence twice as long with the same tokens has the same loss ("mean"), twice the loss
    ("sum"), or neither ("other"). padding: "ignored", "divides by the padded length", "ignores its mask"
    (what stands at masked tokens matters), "fills holes" (only what stands between an answer's tokens, as
    a tool's output does), "other", or "no mask" if it takes none.
    """

    batch: str
    tokens: str
    padding: str

    @property
    def padding_words(self) -> str:
        """What masked tokens do, such as: what stands at masked tokens changes it."""
        return {
            "ignores its mask": "what stands at masked tokens changes it",
            "fills holes": "masked tokens between an answer's own, as a tool's are, change it",
            "divides by the padded length": "it is divided by the padded length",
            "other": "it depends on how far the batch is padded",
        }.get(self.padding, "no masked token changes it")

    @property
    def words(self) -> str:
        """Such as: token mean over the batch."""
        if self.padding == "divides by the padded length":
            return "sum over tokens, divided by the padded length"
        return {
            ("token mean", "mean"): "token mean over the batch",
            ("mean", "mean"): "mean over each sequence's tokens, then over sequences",
            ("mean", "sum"): "sum over tokens, mean over sequences",
            ("sum", "sum"): "sum over tokens and sequences",
            ("sum", "mean"): "mean over each sequence's tokens, sum over sequences",
            ("mean", "other"): "mean over sequences",
            ("sum", "other"): "sum over sequences",
        }.get((self.batch, self.tokens), f"{self.batch} over the batch")


@dataclass(frozen=True)
class Match:
    """What a quantity is found to be: `exact` if it is `constant` times the named one on every problem.

    `per_token` says by which power of the number of tokens the constant is divided. Where it is not exact,
    `name` is the nearest, `angle` the largest angle to it on any problem, in degrees (gradients; to its
    opposite where `constant` is negative), and `bias` the range of the relative errors (values). `name` is
    "zero" for a quantity that vanishes and "none" if there is nothing near. A sum has `terms`, (coefficient,
    quantity) each.
    """

    name: str
    exact: bool
    constant: float | None = None
    per_token: int = 0
    angle: float | None = None
    bias: tuple[float, float] | None = None
    terms: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Limit:
    """Between which values of `what` an exact match was found to hold; infinite where no end was found.

    what: "log(pi/ref)" or "log(pi/old)" of a token, or "|A|" (whose least is 0); `example` says of a token
    beyond how far off it is, `place` with which log-probabilities.
    """

    what: str
    low: float
    high: float
    example: str
    place: str = ""

    @property
    def words(self) -> str:
        """Such as: -2.6 <= log(pi/ref) <= 5; a ratio to the old policy as it is clipped."""
        low, high = (self.low, self.high)
        what = self.what
        if what == "log(pi/old)":
            what, low, high = "pi/old", math.exp(low), math.exp(high)
        below = "" if low in (0.0, -math.inf) else f"{low:.3g} <= "
        return f"{below}{what}" + ("" if math.isinf(high) else f" <= {high:.3g}")


@dataclass(frozen=True)
class Minimiser:
    """Where the expected loss on filtered samples is least: the valid mass, and the law within Y1.

    `target` is "p_*" (mass 1), "base rate" (mass A1), "constant" (mass `ratio` times A1), "other", or
    "none" if the loss falls without bound or moves nothing; `masses` pairs each mass with its base rate A1.
    """

    target: str
    masses: tuple[tuple[float, float], ...]
    ratio: float | None
    within_valid: float
    """The largest total variation distance of pi(. | Y1) from p_*."""


@dataclass(frozen=True)
class Batches:
    """What a loss that couples its batch descends on single outcomes, by the batch size B."""

    gradients: tuple[tuple[int, Match], ...]


@dataclass(frozen=True)
class Extremes:
    """Behaviour of the loss of one token against x = log(pi/ref), up to |x| = 1e4, in one dtype.

    Lists of x: where value or gradient is nan, and where either is inf although float64's is finite and
    within the dtype. `finite`: between which x both are finite; infinite ends where no other was found.
    """

    dtype: str
    nan: tuple[float, ...]
    inf: tuple[float, ...]
    finite: tuple[float, float] = (-math.inf, math.inf)

    @property
    def words(self) -> str:
        """Such as: float32 overflows at log(pi/ref) below -88.7; "" where it is finite everywhere."""
        ends = [
            (f"below {self.finite[0]:.3g}", self.finite[0]),
            (f"above {self.finite[1]:.3g}", self.finite[1]),
        ]
        found = " and ".join(words for words, end in ends if math.isfinite(end))
        return f"{self.dtype} overflows at log(pi/ref) {found}" if found else ""


@dataclass(frozen=True)
class Stopped:
    """A ratio's interval without a slope: `what` is "pi/old" or "pi/ref", the advantage 1 or -1."""

    what: str
    advantage: float
    low: float
    high: float

    @property
    def words(self) -> str:
        """Such as: pi/old >= 1.2 if A > 0."""
        return f"{between(self.what, self.low, self.high)} if A {'>' if self.advantage > 0 else '<'} 0"


def between(what: str, low: float, high: float) -> str:
    """Such as: r >= 1.2; 0.5 <= r <= 2; any r."""
    if math.isinf(high):
        return f"any {what}" if low == 0 else f"{what} >= {low:.3g}"
    return f"{what} <= {high:.3g}" if low == 0 else f"{low:.3g} <= {what} <= {high:.3g}"


@dataclass(frozen=True)
class EqualGroups:
    """What a loss of advantages does with a group whose verdicts agree: all its advantages are zero.

    `gradient`, on sequences; "failed", and `why`, where it fails on a batch of such answers alone. `weight`:
    whether they count in the mean beside others ("counted", "left out", or "unknown").
    """

    gradient: Match
    weight: str
    why: str = ""


@dataclass(frozen=True)
class Term:
    """A part of a loss, by what it depends on, and what it descends: on single outcomes, and on sequences.

    name: "policy", what goes with the advantages; "KL", what of the rest goes with the reference; "other".
    `near`: on single outcomes with all log ratios near zero, where it is not exact elsewhere.
    """

    name: str
    gradient: Match
    sequence_gradient: Match
    near: Match

    @property
    def words(self) -> str:
        """Such as: forward KL(ref||pi); or: none; near: minus expected reward."""
        near = f"; near: {match_words(self.near)}" if self.near.exact else ""
        return both_words(self.gradient, self.sequence_gradient) + near


SEVERAL = "batches of several sequences"
"""Where a loss fails that is audited on single sequences all the same."""


@dataclass(frozen=True)
class Failure:
    """A problem on which the loss could not be evaluated, and what happened."""

    problem: str
    what: str


@dataclass(frozen=True, repr=False)
class AuditReport(LossReport):
    """Everything an audit finds about one loss on one kind of samples.

    `value` and `gradient` are matched on single outcomes, `sequence_value` and `sequence_gradient` on token
    sequences of one length, `unequal_gradient` on sequences whose lengths differ, a token mean there in the
    limit of large batches; `near_gradient` and `near_sequence_gradient`, where these are not exact, with all
    log ratios near zero. `limits` and `sequence_limits` say how far an exact one of them holds. `terms` has
    the parts of a loss that has several.
    `reduction` says how tokens and sequences are added up; `precision` is "float32" for a loss that rounds to
    it, and agreement then is that of float32; "16 bits" for one that rounds more, too coarse to match. A loss
    that couples its batch has `batches`, and is matched on pairs. `variance` is that of the one-sample
    gradient over the squared norm of the exact one (median over problems; None if the exact one vanishes).
    `law` and `selects` are those of `law.law_of`: `selects` is a key of `kl_terms.ENDS`, or "none".
    `dead_zones` are intervals of x = log(pi/ref) where the gradient of a sampled token is zero away from x =
    0, `rounded_zones` those where it is lost to rounding in float64; `asymmetry` is |gradient at x = +5| over
    that at -5; all of them at an advantage of zero, the penalty's. `stopped` are the ratios without a slope
    at advantages of 1 and -1. `equal_groups` tells of answers whose advantages are all zero. `advantages`:
    "one an answer", shape (batch,), or "one a token". `broadcast`: one that meets every answer with every
    other, or "".
    """

    loss: str
    samples: str
    verdict: str
    value: Match
    gradient: Match
    sequence_value: Match
    sequence_gradient: Match
    unequal_gradient: Match
    near_gradient: Match
    near_sequence_gradient: Match
    limits: tuple[Limit, ...]
    sequence_limits: tuple[Limit, ...]
    terms: tuple[Term, ...]
    reduction: AddingUp | None
    precision: str
    batches: Batches | None
    minimiser: Minimiser | None
    law: str
    selects: str
    variance: float | None
    extremes: tuple[Extremes, ...]
    dead_zones: tuple[tuple[float, float], ...]
    rounded_zones: tuple[tuple[float, float], ...]
    asymmetry: float | None
    failures: tuple[Failure, ...]
    stopped: tuple[Stopped, ...] = ()
    equal_groups: EqualGroups | None = None
    advantages: str = "one a token"
    broadcast: str = ""

    @property
    def failed(self) -> bool:
        """Whether it could be evaluated on no problem."""
        return "failed" == self.gradient.name == self.sequence_gradient.name

    @property
    def match(self) -> Match:
        """What it descends on single outcomes, or else near log ratios of zero."""
        return self.near_gradient if self.near_gradient.exact else self.gradient

    @property
    def sequence_match(self) -> Match:
        """The same on sequences."""
        near = self.near_sequence_gradient
        return near if near.exact else self.sequence_gradient

    @property
    def drops_penalty(self) -> bool:
        """Whether a loss that has a penalty beside the reward has none where all advantages are zero."""
        if self.equal_groups is None or self.equal_groups.gradient.name not in ("zero", "failed"):
            return False
        penalties = [name for _, name in self.sequence_match.terms if not name.startswith(REWARD)]
        return self.sequence_match.exact and bool(penalties)

    def rows(self) -> Sequence[tuple[str, str]]:
        """The findings that say something, (name, words) each; of a loss that was not evaluated, why."""
        failures = ("failures", "\n".join(f"{f.problem}: {f.what}" for f in self.failures))
        if self.failed:
            return (failures,)
        single, sequence = match_words(self.gradient), match_words(self.sequence_gradient)
        both = (self.unequal_gradient, self.sequence_gradient)
        one, other = (replace(match, name=match.name.replace(PER_TOKEN[1], "")) for match in both)
        unequal = differ(one, other)
        found = (
            ("value estimates", match_words(self.value)),
            ("gradient", sequence),
            ("of one token", single if differ(self.gradient, self.sequence_gradient) else "-"),
            ("near log ratios of 0", match_words(self.near_sequence_gradient)),
            ("of one token near 0", match_words(self.near_gradient)),
            ("exact", _extent(self.limits, self.sequence_limits, self.match, self.sequence_match)),
            *((f"{term.name} term", term.words) for term in self.terms),
            ("where lengths differ", match_words(self.unequal_gradient) if unequal else "-"),
            ("adds up", "-" if self.reduction is None else self.reduction.words),
            ("masked tokens", "-" if self.reduction is None else self.reduction.padding_words),
            ("batch of B", batch_words(self)),
            ("law of training", "-" if self.law == "not known" else self.law),
            ("ends, beta small", end_words(self)),
            ("minimiser", minimiser_words(self)),
            ("relative variance", variance_words(self)),
            (
                "nan or early inf",
                "\n".join(extreme for each in self.extremes for extreme in _bad(each)) or "-",
            ),
            ("overflow", overflow_words(self)),
            (
                "no KL gradient at",
                f"log(pi/ref) in {zones}" if (zones := dead_zone_words(self)) != "none" else "-",
            ),
            ("no slope at", ", ".join(zone.words for zone in self.stopped) or "-"),
            ("advantages of zero", equal_words(self)),
            ("computes in", "-" if self.precision == "float64" else self.precision),
            failures,
        )
        return tuple((name, words) for name, words in found if words not in ("", "-", "none"))


def _extent(limits: Sequence[Limit], sequence: Sequence[Limit], *matches: Match) -> str:
    """How far an exact match holds; "-" where there is none."""
    if not any(match.exact for match in matches):
        return "-"
    found = {
        limit.words: f"while {limit.words} ({limit.place or limit.example})" for limit in (*limits, *sequence)
    }
    return "\n".join(found.values()) or "wherever tried (log ratios to +-20)"


def _bad(extremes: Extremes) -> list[str]:
    pairs = (("nan", extremes.nan), ("early inf", extremes.inf))
    return [f"{extremes.dtype}: {what} at x = {', '.join(f'{x:g}' for x in at)}" for what, at in pairs if at]


def differ(one: Match, other: Match) -> bool:
    """Whether another quantity is found, or one not exactly and the other exactly."""
    return (one.name, one.exact) != (other.name, other.exact)


def end_words(report: AuditReport) -> str:
    """What training ends at with a small beta, by name, and for which lengths that is known."""
    unequal = report.unequal_gradient
    exact = report.sequence_gradient.exact and report.selects != "none"
    if not exact or unequal.exact or unequal.name == "failed":
        return report.selects
    return f"{report.selects}, where all lengths are equal"


def near_words(match: Match) -> str:
    """The nearest, or its opposite, and the largest angle to it."""
    opposite = "the opposite of " * (match.constant == -1)
    angle = match.angle or 0.0
    return f"{opposite}{match.name} at {'up to ' * (angle >= 1)}{angle_words(angle)}"


def angle_words(angle: float) -> str:
    """An angle in whole degrees; below one it still is no match."""
    return f"{angle:.0f} degree{'s' * (angle >= 1.5)}" if angle >= 1 else "under 1 degree"


_TARGETS = {
    "p_*": "p_*, valid mass 1",
    "base rate": "valid mass A1",
    "other": "another valid mass",
    "none": "none",
}


def match_words(match: Match) -> str:
    """Such as: reverse KL(pi||ref), per token."""
    if match.name in ("zero", "failed"):
        return {"zero": "zero", "failed": "-"}[match.name]
    if match.exact:
        one = match.constant is None or abs(match.constant - 1) < 1e-6
        return f"{'' if one else f'{match.constant:.4g} times '}{match.name}{PER_TOKEN[match.per_token]}"
    if match.bias is not None:
        return f"biased; nearest {match.name} ({match.bias[0]:+.0%} to {match.bias[1]:+.0%})"
    if match.angle is not None:
        return f"none; nearest {near_words(match)}"
    return "none"


def both_words(single: Match, sequence: Match) -> str:
    """The match on single outcomes, and on sequences where that is another one and either is exact."""
    words = match_words(single)
    if differ(single, sequence) and (single.exact or sequence.exact):
        words += f"; on sequences: {match_words(sequence)}"
    return words


def minimiser_words(report: AuditReport) -> str:
    """What the loss's minimiser on filtered samples is; "-" for other samples."""
    found = report.minimiser
    if found is None:
        return "-"
    if found.target == "constant":
        return f"valid mass {found.ratio:.3g} A1"
    return _TARGETS[found.target]


def batch_words(report: AuditReport) -> str:
    """What it descends by batch size; "-" for a loss that does not couple its batch."""
    if report.batches is None:
        return "-"
    return "; ".join(f"B = {size}: {match_words(match)}" for size, match in report.batches.gradients)


def variance_words(report: AuditReport) -> str:
    """The relative variance to two digits; "-" where the gradient vanishes."""
    return "-" if report.variance is None else f"{report.variance:.2g}"


def overflow_words(report: AuditReport) -> str:
    """From which log ratio on each dtype overflows; "-" where none was found to."""
    ends: dict[str, list[str]] = {}
    for extremes in report.extremes:
        if words := extremes.words:
            ends.setdefault(words.removeprefix(f"{extremes.dtype} "), []).append(extremes.dtype)
    found = [f"{' and '.join(dtypes)} {words}" for words, dtypes in ends.items()]
    return "; ".join(found).replace("6 overflows", "6 overflow") or "-"


def equal_words(report: AuditReport) -> str:
    """What answers of a group whose verdicts agree descend."""
    found = report.equal_groups
    if found is None:
        return "-"
    left = ", left out of the mean" if found.weight == "left out" else ""
    return f"{found.why or match_words(found.gradient)}{left}"


def dead_zone_words(report: AuditReport) -> str:
    """The intervals, or "none"."""
    zones = [f"[{low:g}, {high:g}]" for low, high in report.dead_zones]
    zones += [f"[{low:g}, {high:g}] by rounding" for low, high in report.rounded_zones]
    return ", ".join(zones) or "none"
