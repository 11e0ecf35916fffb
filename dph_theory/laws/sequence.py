"""The law of a penalty on the whole answer, max_pi E v - beta D_f(pi || a): the law, and its pass rate at a
given beta and back, for the whole answer or for one decision.
"""

from functools import cache, partial

import numpy as np

from ..divergences import REVERSE_KL
from ..fdivergence import FDivergence
from ..numeric.arrays import Array, Scalars, first, positive, probability, rate, together
from ..numeric.balls import Values, expit, logit, trailing
from ..support.errors import argument_error
from ..tokens import joint
from .response import power_family, require_smooth, respond, slope
from .token import Tables, conditionals, tree


def sequence_law(
    base: Tables, valid: Array, beta: Scalars, divergence: FDivergence = REVERSE_KL, *, end: int | None = None
) -> list[np.ndarray]:
    """The maximiser of E v - beta D_f(pi || a) over all laws of answers, as next-token tables.

    u = pi/a depends on an answer only through its verdict, so pi(.|Y1) = a(.|Y1) and pi(.|Y0) = a(.|Y0) for
    every f, which decides the validity alone (`validity_at`). Reverse KL: the tilted model p_b ~ a e^{v/b}.
    base: a list, entry t of shape (*batch, V, ..., V) with t+1 trailing axes; valid: (*batch, V, ..., V);
    beta > 0: (*batch); the law has the tables' shapes. Prefixes without mass keep the base's law.
    Source: ours, theory E1; reverse KL: dymetman2026binary.
    """
    setting = tree(base, valid, end, beta)
    answers, axes = joint(setting.base), tuple(range(-setting.length, 0))
    split = [np.where(part, answers, 0.0).sum(axis=axes) for part in (setting.valid, ~setting.valid)]
    masses = np.stack(split, axis=-1)
    policy = respond(masses, np.array([1.0, 0.0]), setting.beta, divergence).policy
    ratio = policy / np.where(masses > 0, masses, 1.0)
    valid_ratio, invalid_ratio = (trailing(ratio[..., i], setting.length) for i in (0, 1))
    tilted = answers * np.where(setting.valid, valid_ratio, invalid_ratio)
    return conditionals(tilted, setting.length, setting.base)


_FARTHEST = 700.0
"""Beyond this rise of the log odds the chance of a failure underflows."""


def validity_at(base_rate: Scalars, beta: Scalars, divergence: FDivergence = REVERSE_KL) -> Values:
    """The validity mu of max_pi E v - beta D_f(pi || a): f'(mu/A1) - f'((1-mu)/A0) = 1/beta, or mu = 1.

    mu = 1 where that has no root, which takes a finite f'(0+). Reverse KL: logit mu = logit A1 + 1/beta.
    Forward KL: -A1/mu + A0/(1-mu) = 1/beta. Pearson: mu = A1 + A0 A1/(2 beta). Base rates in [0, 1] (0 and 1
    stay), beta > 0; shapes broadcast. Source: ours, theory E1.
    """
    require_smooth(divergence)
    base_rate, beta = probability("base_rate", base_rate), positive("beta", beta)
    together(base_rate=base_rate, beta=beta)
    inside = (base_rate > 0) & (base_rate < 1)
    start = logit(np.where(inside, base_rate, 0.5))
    with np.errstate(over="ignore"):
        strength = 1 / beta
    rise = strength if divergence == REVERSE_KL else _rise_of_odds(start, beta, divergence)
    return np.where(inside, expit(start + rise), base_rate)


def _rise_of_odds(start: Values, beta: Values, divergence: FDivergence) -> Values:
    """logit mu - logit A1 at which the penalty's pull is 1/beta; inf where none is as strong."""
    start, beta = np.broadcast_arrays(start, beta)
    with np.errstate(over="ignore"):
        strength = 1 / beta
    farthest = _FARTHEST + np.abs(start)

    def excess(rise: Values, start: Values, strength: Values) -> Values:
        pull = _pull_of_rise(rise, start, divergence)
        # Compared by arcsinh: the pull can span three hundred decades.
        return np.arcsinh(np.maximum(pull, 0.0)) - np.arcsinh(strength)

    certain = strength >= _pull_of_rise(farthest, start, divergence)
    low, high = np.zeros(start.shape), np.where(certain, 1.0, farthest)
    from scipy.optimize import elementwise

    found = np.asarray(elementwise.find_root(excess, (low, high), args=(start, strength)).x)
    power = power_family(divergence)
    if power is not None and power > 0:
        strong = ~certain & (2 * power * strength > divergence.curvature)
        pull = partial(_pull_beyond, power=power)
        args = (start[strong], beta[strong] * divergence.curvature)
        found[strong] = elementwise.find_root(pull, (low[strong], high[strong]), args=args).x
    return np.where(certain, np.inf, found)


def _log_ratios(rise: Values, start: Values) -> tuple[Values, Values]:
    """log(mu/A1) and log((1-mu)/A0) at logit mu = logit A1 + rise, both to their last digits."""
    log_rate, log_rest = -np.logaddexp(0.0, -start), -np.logaddexp(0.0, start)
    return -np.logaddexp(log_rate, log_rest - rise), -np.logaddexp(log_rest, log_rate + rise)


def _pull_of_rise(rise: Values, start: Values, divergence: FDivergence) -> Values:
    """f'(mu/A1) - f'((1-mu)/A0), which rises with the log odds."""
    gained, failed = _log_ratios(rise, start)
    return slope(divergence, gained) - slope(divergence, failed)


def _pull_beyond(rise: Values, start: Values, beta: Values, power: float) -> Values:
    """Where it exceeds 1/beta, for f'(u) = (1 - u^-power)/power: positive, and to its last digits.

    f' tends to 1/power, and where that is all but 1/beta the rest of either side decides: compared are
    the logarithms of u^-power/power and of -f' at the failures, each with what the other lacks.
    """
    gained, log_rate = _log_ratios(rise, start)[0], -np.logaddexp(0.0, -start)
    short = (1 - beta / power) / beta
    with np.errstate(divide="ignore"):
        # -log((1-mu)/A0) = log(1 + A1 (e^rise - 1)), which is near zero where A1 is.
        failed = np.logaddexp(0.0, log_rate + rise + np.log(-np.expm1(-rise)))
        lifted = power * failed + np.log(-np.expm1(-power * failed)) - np.log(power)
        above = np.logaddexp(lifted, np.log(np.maximum(-short, 0.0)))
        below = np.logaddexp(-power * gained - np.log(power), np.log(np.maximum(short, 0.0)))
    return np.clip(above - below, -_FARTHEST, _FARTHEST)


def beta_at(base_rate: Scalars, validity: Scalars, divergence: FDivergence = REVERSE_KL) -> Values:
    """The beta at which a base rate A1 is raised to that validity: the inverse of `validity_at`.

    Shapes broadcast. Raises ValueError unless 0 < base_rate < validity < 1; validity 1 is allowed where
    f'(0+) is finite, and gives the largest beta that reaches it. Source: ours, theory E1.
    """
    require_smooth(divergence)
    base_rate, validity = rate("base_rate", base_rate), probability("validity", validity)
    together(base_rate=base_rate, validity=validity)
    floor = slope_at_zero(divergence)
    bad = (validity <= base_rate) | ((validity == 1) & np.isinf(floor))
    if bad.any():
        raise argument_error("validity", first(validity, bad), "above the base rate, and below one")
    return 1 / validity_pull(base_rate, validity, divergence)


def validity_pull(base_rate: Values, validity: Values, divergence: FDivergence) -> Values:
    """f'(mu/A1) - f'((1-mu)/A0), which a law of validity mu balances against 1/beta."""
    with np.errstate(divide="ignore"):
        failed = np.log1p(-validity) - np.log1p(-base_rate)
    low = slope(divergence, np.where(validity < 1, failed, 0.0))
    low = np.where(validity < 1, low, slope_at_zero(divergence))
    return slope(divergence, np.log(validity) - np.log(base_rate)) - low


@cache
def slope_at_zero(divergence: FDivergence) -> float:
    """f'(0+) - f'(1): finite where a finite beta already removes every failure, else -inf."""
    import sympy

    from ..fdivergence import u

    return float(sympy.limit(divergence.derivative, u, 0, "+")) - divergence.gauge


def effective_beta(beta: Scalars, false_positive: Scalars, false_negative: Scalars) -> Values:
    """The beta at which a right verifier would lead to the law that one which errs leads to: b/J.

    Errors are independent of the answer given its truth: the mean verdict is phi + J v, J = 1 - phi - nu.
    Errors tied to answers are no noise: the law is that of the verdicts. Without a KL the path is the same,
    J times slower. Parameters: beta > 0; phi, the share of wrong answers accepted, and nu, of right ones
    refused, in [0, 1]; shapes broadcast. Returns beta of that shape.
    Raises ValueError where J is not above 0: training then goes the other way. Source: ours, theory G9.

    >>> float(effective_beta(0.5, 0.05, 0.2).round(4))
    0.6667
    """
    beta = positive("beta", beta)
    phi, nu = probability("false_positive", false_positive), probability("false_negative", false_negative)
    together(beta=beta, false_positive=phi, false_negative=nu)
    left = 1 - phi - nu
    if np.any(left <= 0):
        raise argument_error(
            "false_negative", false_negative, "less than 1 - false_positive: training goes the other way"
        )
    return beta / left
