"""What an audit finds, as frozen values, and what it says of them: one sentence, and cells of a table."""

import html
import math
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..support.notebook import Shown
from ..support.table import Table
from ..trainers import ENDS

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

    what: "log(pi/ref)" or "log(pi/old)" of a token, or "|A|" (whose least is 0); `example` is a place beyond.
    """

    what: str
    low: float
    high: float
    example: str

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
    """What a loss that couples its batch descends on single outcomes, by the batch size B.

    `constant` is the constant as a function of B, such as "1 - 1/B", where the sizes tell one.
    """

    gradients: tuple[tuple[int, Match], ...]
    constant: str | None


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
    `law` and `selects` are those of `law.law_of`: `selects` is a key of `trainers.ENDS`, or "none".
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
        """The findings, (name, words) each; of a loss that could not be evaluated, why."""
        extremes = [
            f"{e.dtype}: {what} at x = {', '.join(f'{x:g}' for x in points)}"
            for e in self.extremes
            for what, points in (("nan", e.nan), ("early inf", e.inf))
            if points
        ]
        failures = ("failures", "\n".join(f"{f.problem}: {f.what}" for f in self.failures) or "none")
        if self.failed:
            return (failures,)
        return (
            ("value", match_words(self.value)),
            ("gradient", match_words(self.gradient)),
            ("value on sequences", match_words(self.sequence_value)),
            ("gradient on sequences", match_words(self.sequence_gradient)),
            ("near log ratios of zero", match_words(self.near_gradient)),
            ("on sequences near", match_words(self.near_sequence_gradient)),
            ("exact while", _domain(self.limits, self.gradient, self.near_gradient)),
            (
                "on sequences while",
                _domain(self.sequence_limits, self.sequence_gradient, self.near_sequence_gradient),
            ),
            *((f"{term.name} term", term.words) for term in self.terms),
            ("gradient, unequal lengths", match_words(self.unequal_gradient)),
            ("adds up", "-" if self.reduction is None else self.reduction.words),
            ("batch of B", batch_words(self)),
            ("law of training", self.law),
            ("ends, with a small beta, at", end_words(self)),
            ("minimiser", minimiser_words(self)),
            ("relative variance", variance_words(self)),
            ("extremes, x = log(pi/ref)", "\n".join(extremes) or "-"),
            ("overflow", overflow_words(self)),
            ("dead zones", dead_zone_words(self)),
            ("no slope at", ", ".join(zone.words for zone in self.stopped) or "-"),
            ("advantages of zero", equal_words(self)),
            ("|slope at +5| / |slope at -5|", "-" if self.asymmetry is None else f"{self.asymmetry:.3g}"),
            failures,
        )


def verdict_line(report: AuditReport) -> str:
    """Such as: k3 on policy samples: value estimates reverse KL(pi||ref); its gradient descends ..."""
    start = f"{report.loss} on {report.samples.replace('_', ' ')} samples"
    if report.gradient.name == "failed":
        return f"{start}: could not be audited: {report.failures[0].what} (on {report.failures[0].problem})"
    parts = [_value_words(report.value), _gradient_words(report)]
    if report.broadcast:
        parts.insert(
            0, f"it MIXES ANSWERS by a broadcast of {report.broadcast}: each answer meets every other"
        )
    if _ignores_mask(report):
        parts.insert(
            0, "it IGNORES ITS MASK: what stands at masked tokens changes it, so that the rest need not hold"
        )
    if report.near_gradient.exact:
        parts.append(f"near it {_descent(report.near_gradient)}{_while(report.limits)}")
    within, near = _while(report.sequence_limits), report.near_sequence_gradient
    if report.reduction is not None and report.reduction.padding == "fills holes":
        parts.insert(
            0,
            "it FILLS HOLES in its mask: masked tokens between an answer's own, as a tool's are, change it; "
            "the rest holds for masks without holes",
        )
    if differ(report.sequence_gradient, report.gradient) or (report.sequence_limits and not report.limits):
        exact = within if report.sequence_gradient.exact else ""
        parts.append(f"on sequences it {_descent(report.sequence_gradient, report.batches)}{exact}")
    if near.exact:
        parts.append(f"on sequences near it {_descent(near)}{within}")
    parts += _reduction_words(report)
    if report.minimiser is not None:
        parts.append(_minimiser_words(report.minimiser))
    parts += _zero_advantage_words(report)
    if report.selects != "none":
        parts.append(f"with a small beta, training ends at {ENDS[report.selects]} (the {end_words(report)})")
    parts += _warnings(report)
    return f"{start}: " + "; ".join(parts)


def _zero_advantage_words(report: AuditReport) -> list[str]:
    """What becomes of groups whose verdicts agree, where it is not that of the others."""
    words, found = [], report.equal_groups
    if report.drops_penalty:
        words.append("where verdicts agree (advantage 0) it has NO PENALTY: nothing holds those prompts")
    if found is not None and found.weight == "left out":
        words.append("answers of advantage 0 are left out of the mean: the others count for more")
    if found is not None and found.why:
        words.append(f"where all advantages are 0, {found.why}")
    return words


def end_words(report: AuditReport) -> str:
    """What training ends at with a small beta, by name, and for which lengths that is known."""
    unequal = report.unequal_gradient
    exact = report.sequence_gradient.exact and report.selects != "none"
    if not exact or unequal.exact or unequal.name == "failed":
        return report.selects
    return f"{report.selects}, where all lengths are equal"


def _ignores_mask(report: AuditReport) -> bool:
    return report.reduction is not None and report.reduction.padding == "ignores its mask"


def _times(match: Match) -> str:
    """The constant in words, if it is not one."""
    return "" if match.constant is None or abs(match.constant - 1) < 1e-6 else f"{match.constant:.6g} times "


def _value_words(match: Match) -> str:
    if match.name == "zero":
        return "value is zero"
    if match.exact:
        return f"value estimates {_times(match)}{match.name}"
    if match.bias is None:
        return "value estimates none of the known divergences"
    low, high = match.bias
    return f"value is biased, nearest {match.name} (off by {low:+.0%} to {high:+.0%})"


def differ(one: Match, other: Match) -> bool:
    """Whether another quantity is found, or one not exactly and the other exactly."""
    return (one.name, one.exact) != (other.name, other.exact)


def _gradient_words(report: AuditReport) -> str:
    within = _while(report.limits) if report.gradient.exact else ""
    if report.gradient.name == "zero":
        return f"its gradient is ZERO in expectation{within}: training on it changes nothing but noise"
    return f"its gradient {_descent(report.gradient, report.batches)}{within}"


def _while(limits: Sequence[Limit]) -> str:
    """How far it holds, and an example of where it does not; nothing where no end was found."""
    if not limits:
        return ""
    return f" while {' and '.join(limit.words for limit in limits)} (beyond, {limits[0].example})"


def _domain(limits: Sequence[Limit], *matches: Match) -> str:
    if not any(match.exact for match in matches):
        return "-"
    return "\n".join(f"{limit.words} (beyond, {limit.example})" for limit in limits) or "no end was found"


def _descent(match: Match, batches: Batches | None = None) -> str:
    if match.name == "zero":
        return "descends nothing (zero in expectation)"
    if not match.exact:
        near = ", nothing near" if match.angle is None else f", nearest {_near_words(match)}"
        return f"descends none of the known quantities{near}"
    size = abs(match.constant or 1.0)
    scale = "exactly" if abs(size - 1) < 1e-6 else f"exactly, scaled by {size:.6g}"
    if batches is not None and batches.constant is not None and "B" in batches.constant:
        scale = f"exactly, scaled by {batches.constant.removeprefix('-')} in a batch of B"
    return f"{_direction(match)}, {scale}{PER_TOKEN[match.per_token]}{_sign_error(match)}"


def _near_words(match: Match) -> str:
    """The nearest, or its opposite, and the largest angle to it."""
    opposite = "the opposite of " * (match.constant == -1)
    angle = match.angle or 0.0
    return f"{opposite}{match.name} at {'up to ' * (angle >= 1)}{angle_words(angle)}"


def _direction(match: Match) -> str:
    rises = match.constant is not None and match.constant < 0
    if match.name == REWARD:
        return f"{'lowers' if rises else 'raises'} the expected reward"
    shout = match.name.replace("forward KL", "FORWARD KL").replace("reverse KL", "REVERSE KL")
    return f"{'raises' if rises else 'descends'} {shout}"


def _sign_error(match: Match) -> str:
    """To raise an entropy is a bonus; to raise a divergence or to lower the reward is a mistake."""
    rises = match.constant is not None and match.constant < 0
    return ": sign error" if rises and "entropy" not in match.name else ""


def _reduction_words(report: AuditReport) -> list[str]:
    """How the batch matters, and the lengths, where they do."""
    words = []
    if report.batches is not None and report.batches.constant is None:
        sizes = "; ".join(f"at B = {size} it {_descent(m)}" for size, m in report.batches.gradients)
        known = all(match.exact for _, match in report.batches.gradients)
        how = "" if known else ", in no way recognised"
        words.append(f"it couples the sequences of a batch{how}: {sizes}")
    elif report.batches is not None:
        words.append("it couples the sequences of a batch")
    reduction = report.reduction
    if reduction is None or report.unequal_gradient.name == "failed":
        return words
    if reduction.padding in ("divides by the padded length", "other"):
        words.append("it depends on how far the batch is padded")
    told = reduction.padding == "divides by the padded length" or report.sequence_gradient.exact
    told = told and not _ignores_mask(report) and report.batches is None
    if told and differ(report.unequal_gradient, report.sequence_gradient):
        within = _while(report.sequence_limits) if report.unequal_gradient.exact else ""
        words.append(
            f"where lengths differ ({reduction.words}) it {_descent(report.unequal_gradient)}{within}"
        )
    return words


def angle_words(angle: float) -> str:
    """An angle in whole degrees; below one it still is no match."""
    return f"{angle:.0f} degree{'s' * (angle >= 1.5)}" if angle >= 1 else "under 1 degree"


def _minimiser_words(found: Minimiser) -> str:
    words = {
        "p_*": "its minimiser is the filtered model p_* (valid mass 1)",
        "base rate": "its minimiser keeps the base's own pass rate (valid mass A1)",
        "constant": f"its minimiser has valid mass {found.ratio:.4g} A1" if found.ratio is not None else "",
        "other": "its minimiser has a valid mass that is neither 1 nor a multiple of A1",
        "none": "it has no minimiser (it falls without bound, or moves nothing)",
    }[found.target]
    if found.target != "none" and found.within_valid > 1e-3:
        words += f", and is not p_* within Y1 (off by {found.within_valid:.2g} in total variation)"
    return words


def _warnings(report: AuditReport) -> list[str]:
    words = []
    if report.precision == "16 bits":
        words.append("it computes in 16 bits, too coarse to recognise anything: audit it in 32 or 64")
    elif report.precision != "float64":
        words.append(f"it computes in {report.precision}: exact to its rounding")
    if report.dead_zones:
        zones = ", ".join(f"[{low:g}, {high:g}]" for low, high in report.dead_zones[:3])
        words.append(f"no gradient at log ratios in {zones}")
    for extremes in report.extremes:
        if extremes.nan:
            words.append(f"nan in {extremes.dtype} from |x| = {min(map(abs, extremes.nan)):g}")
        if extremes.inf:
            words.append(f"overflows early in {extremes.dtype} from |x| = {min(map(abs, extremes.inf)):g}")
    failures = {f.problem: f.what for f in report.failures}
    if why := failures.pop(SEVERAL, None):
        words.append(f"it FAILS on {SEVERAL} ({why}): all this is about batches of one")
    if failures:
        words.append(f"failed on {len(failures)} of the problems ({next(iter(failures.values()))})")
    return words


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
        return f"none; nearest {_near_words(match)}"
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
    """How the constant depends on the batch size; "-" for a loss that does not couple its batch."""
    if report.batches is None:
        return "-"
    if report.batches.constant is not None:
        return f"scaled by {report.batches.constant}"
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
