"""What an audit finds, as frozen values, and its verdict in one line."""

from dataclasses import asdict, dataclass
from typing import Any

SAMPLES = ("policy", "old_policy", "reference", "filtered")
"""Where the audited samples come from; "filtered" are correct samples of the reference."""


@dataclass(frozen=True)
class Match:
    """What a quantity is found to be: `exact` if it is `constant` times the named one on every problem.

    `per_token` says that the constant is divided by the number of tokens. Where it is not exact, `name` is
    the nearest, `angle` the median angle to it in degrees (gradients) and `bias` the range of the relative
    errors (values). `name` is "zero" for a quantity that vanishes and "none" if there is nothing near.
    """

    name: str
    exact: bool
    constant: float | None = None
    per_token: bool = False
    angle: float | None = None
    bias: tuple[float, float] | None = None


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
class Extremes:
    """Behaviour of the loss of one token against x = log(pi/ref), up to |x| = 1e4, in one dtype.

    Lists of x: where value or gradient is nan, and where either is inf although float64's is finite and
    within the dtype.
    """

    dtype: str
    nan: tuple[float, ...]
    inf: tuple[float, ...]


@dataclass(frozen=True)
class Failure:
    """A problem on which the loss could not be evaluated, and what happened."""

    problem: str
    what: str


@dataclass(frozen=True)
class AuditReport:
    """Everything an audit finds about one loss on one kind of samples.

    `value` and `gradient` are matched on single outcomes, `sequence_value` and `sequence_gradient` on token
    sequences. `variance` is that of the one-sample gradient over the squared norm of the exact one (median
    over problems; None if the exact one vanishes). `law` and `selects` are those of `laws.law_of`.
    `dead_zones` are intervals of x = log(pi/ref) where the gradient of a sampled token is zero away from
    x = 0; `asymmetry` is |gradient at x = +5| over that at -5.
    """

    loss: str
    samples: str
    verdict: str
    value: Match
    gradient: Match
    sequence_value: Match
    sequence_gradient: Match
    minimiser: Minimiser | None
    law: str
    selects: str
    variance: float | None
    extremes: tuple[Extremes, ...]
    dead_zones: tuple[tuple[float, float], ...]
    asymmetry: float | None
    failures: tuple[Failure, ...]

    def as_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return asdict(self)


def verdict_line(report: AuditReport) -> str:
    """Such as: k3 on policy samples: value estimates reverse KL(pi||ref); its gradient descends ..."""
    start = f"{report.loss} on {report.samples.replace('_', ' ')} samples"
    if report.gradient.name == "failed":
        return f"{start}: could not be audited: {report.failures[0].what} (on {report.failures[0].problem})"
    parts = [_value_words(report.value), _gradient_words(report.gradient)]
    if (report.sequence_gradient.name, report.sequence_gradient.exact) != (
        report.gradient.name,
        report.gradient.exact,
    ):
        parts.append(f"on sequences it {_descent(report.sequence_gradient)}")
    if report.minimiser is not None:
        parts.append(_minimiser_words(report.minimiser))
    if report.selects != "none":
        parts.append(f"as its coefficient falls it selects the {report.selects}")
    parts += _warnings(report)
    return f"{start}: " + "; ".join(parts)


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


def _gradient_words(match: Match) -> str:
    if match.name == "zero":
        return "its gradient is ZERO in expectation: it descends nothing"
    return f"its gradient {_descent(match)}"


def _descent(match: Match) -> str:
    if match.name == "zero":
        return "descends nothing (zero in expectation)"
    if not match.exact:
        angle = "" if match.angle is None else f", nearest {match.name} at {angle_words(match.angle)}"
        return f"descends none of the known quantities{angle}"
    ascends = match.constant is not None and match.constant < 0
    shout = match.name.replace("forward KL", "FORWARD KL").replace("reverse KL", "REVERSE KL")
    size = abs(match.constant or 1.0)
    scale = "exactly" if abs(size - 1) < 1e-6 else f"exactly, scaled by {size:.6g}"
    mean = ", per token" if match.per_token else ""
    return f"{'ASCENDS' if ascends else 'descends'} {shout}, {scale}{mean}"


def angle_words(angle: float) -> str:
    """An angle in whole degrees; below one it still is no match."""
    return f"{angle:.0f} degrees" if angle >= 1 else "under 1 degree"


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
    if report.dead_zones:
        zones = ", ".join(f"[{low:g}, {high:g}]" for low, high in report.dead_zones[:3])
        words.append(f"no gradient at log ratios in {zones}")
    for extremes in report.extremes:
        if extremes.nan:
            words.append(f"nan in {extremes.dtype} from |x| = {min(map(abs, extremes.nan)):g}")
        if extremes.inf:
            words.append(f"overflows early in {extremes.dtype} from |x| = {min(map(abs, extremes.inf)):g}")
    if report.failures:
        words.append(f"failed on {len(report.failures)} of the problems ({report.failures[0].what})")
    return words
