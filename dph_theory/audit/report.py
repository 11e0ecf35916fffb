"""What an audit finds, as frozen values, and its verdict in one line."""

from dataclasses import asdict, dataclass
from typing import Any

from .reduction import Reduction

SAMPLES = ("policy", "old_policy", "reference", "filtered")
"""Where the audited samples come from; "filtered" are correct samples of the reference."""


@dataclass(frozen=True)
class Match:
    """What a quantity is found to be: `exact` if it is `constant` times the named one on every problem.

    `per_token` says that the constant is divided by the number of tokens. Where it is not exact, `name` is
    the nearest, `angle` the median angle to it in degrees (gradients) and `bias` the range of the relative
    errors (values). `name` is "zero" for a quantity that vanishes and "none" if there is nothing near. A sum
    has `terms`, (coefficient, quantity) each.
    """

    name: str
    exact: bool
    constant: float | None = None
    per_token: bool = False
    angle: float | None = None
    bias: tuple[float, float] | None = None
    terms: tuple[tuple[float, str], ...] = ()


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
    within the dtype.
    """

    dtype: str
    nan: tuple[float, ...]
    inf: tuple[float, ...]


SEVERAL = "batches of several sequences"
"""Where a loss fails that is audited on single sequences all the same."""


@dataclass(frozen=True)
class Failure:
    """A problem on which the loss could not be evaluated, and what happened."""

    problem: str
    what: str


@dataclass(frozen=True)
class AuditReport:
    """Everything an audit finds about one loss on one kind of samples.

    `value` and `gradient` are matched on single outcomes, `sequence_value` and `sequence_gradient` on token
    sequences of one length, `unequal_gradient` on sequences whose lengths differ, a token mean there in the
    limit of large batches. `reduction` says how tokens and sequences are added up; `precision` is
    "float32" for a loss that rounds to it, and agreement then is that of float32; "16 bits" for one that
    rounds more, too coarse to match. A loss that couples its batch has `batches`, and is matched
    on pairs. `variance` is that of the one-sample gradient over the squared norm of the exact one (median
    over problems; None if the exact one vanishes). `law` and `selects` are those of `laws.law_of`.
    `dead_zones` are intervals of x = log(pi/ref) where the gradient of a sampled token is zero
    away from x = 0, `rounded_zones` those where it is lost to rounding in float64; `asymmetry` is
    |gradient at x = +5| over that at -5.
    """

    loss: str
    samples: str
    verdict: str
    value: Match
    gradient: Match
    sequence_value: Match
    sequence_gradient: Match
    unequal_gradient: Match
    reduction: Reduction | None
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

    def as_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return asdict(self)
