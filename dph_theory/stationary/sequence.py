"""Stationary policies of penalties on whole answers, max_pi E v - beta D_f(pi || a), and their pass rates."""

from functools import cache

import numpy as np

from ..divergences import REVERSE_KL
from ..fdivergence import FDivergence
from ..numeric.arrays import Array, Scalars, first_bad, open_rate, positive, probability, require_common_shape
from ..numeric.elementary import Values, add_axes
from ..support.errors import argument_error
from ..tokens import joint
from .response import require_smooth, respond, slope
from .token import Tables, conditionals, tree


def sequence_policy(
    base: Tables, valid: Array, beta: Scalars, divergence: FDivergence = REVERSE_KL, *, end: int | None = None
) -> list[np.ndarray]:
    """Maximiser of E v - beta D_f(pi || a) over all policies, as next-token tables.

    u = pi/a depends on an answer only through its reward, so pi(.|Y1) = a(.|Y1) and pi(.|Y0) = a(.|Y0) for
    every f, which sets the pass rate alone (`pass_rate_at`). Reverse KL: the tilted policy p_b ~ a e^{v/b}.

    Args:
        base: Next-token tables; entry t has shape (*batch, V, ..., V) with t+1 trailing axes.
        valid: 1 where an answer is correct, shape (*batch, V, ..., V).
        beta: Coefficient of the penalty in units of reward, positive, shape (*batch).
        divergence: The penalty's divergence.
        end: The end symbol, if answers may be shorter than the tree.

    Returns:
        Tables of the base's shapes; prefixes without mass have the base's distribution.

    Raises:
        ValueError: If a table is not a distribution, shapes do not fit, or `beta` is not positive.

    Source: reverse KL, dymetman2026binary; ours, entries `sequence_penalties`.
    """
    setting = tree(base, valid, end, beta)
    answers, axes = joint(setting.base), tuple(range(-setting.length, 0))
    split = [np.where(part, answers, 0.0).sum(axis=axes) for part in (setting.valid, ~setting.valid)]
    masses = np.stack(split, axis=-1)
    policy = respond(masses, np.array([1.0, 0.0]), setting.beta, divergence).policy
    ratio = policy / np.where(masses > 0, masses, 1.0)
    valid_ratio, invalid_ratio = (add_axes(ratio[..., i], setting.length) for i in (0, 1))
    tilted = answers * np.where(setting.valid, valid_ratio, invalid_ratio)
    return conditionals(tilted, setting.length, setting.base)


def pass_rate_at(base_rate: Scalars, beta: Scalars, divergence: FDivergence = REVERSE_KL) -> Values:
    """Pass rate mu of max_pi E v - beta D_f(pi || a): f'(mu/A1) - f'((1-mu)/A0) = 1/beta, or mu = 1.

    mu = 1 if the equation has no root, which takes a finite f'(0+). Reverse KL: logit mu = logit A1 + 1/beta.
    Forward KL: -A1/mu + A0/(1-mu) = 1/beta. Pearson: mu = A1 + A0 A1/(2 beta). Base rates in [0, 1] (0 and 1
    stay), beta > 0; shapes broadcast. Source: ours, entries `sequence_penalties`.
    """
    base_rate, beta = probability("base_rate", base_rate), positive("beta", beta)
    require_common_shape(base_rate=base_rate, beta=beta)
    base_rate, beta = np.broadcast_arrays(base_rate, beta)
    masses = np.stack([base_rate, 1 - base_rate], axis=-1)
    return respond(masses, np.array([1.0, 0.0]), beta, divergence).policy[..., 0]


def beta_at(base_rate: Scalars, pass_rate: Scalars, divergence: FDivergence = REVERSE_KL) -> Values:
    """The beta at which base rate A1 is raised to `pass_rate`: the inverse of `pass_rate_at`.

    Shapes broadcast. Raises ValueError unless 0 < base_rate < `pass_rate` < 1. A pass rate of 1 is allowed if
    f'(0+) is finite, and gives the largest beta that reaches it. Source: ours, entries `sequence_penalties`.
    """
    require_smooth(divergence)
    base_rate, pass_rate = open_rate("base_rate", base_rate), probability("pass_rate", pass_rate)
    require_common_shape(base_rate=base_rate, pass_rate=pass_rate)
    floor = slope_at_zero(divergence)
    bad = (pass_rate <= base_rate) | ((pass_rate == 1) & np.isinf(floor))
    if bad.any():
        raise argument_error("pass_rate", first_bad(pass_rate, bad), "above the base rate, and below one")
    return 1 / pass_rate_drive(base_rate, pass_rate, divergence)


def pass_rate_drive(base_rate: Values, pass_rate: Values, divergence: FDivergence) -> Values:
    """f'(mu/A1) - f'((1-mu)/A0), which is 1/beta at the stationary pass rate mu; shapes broadcast."""
    with np.errstate(divide="ignore"):
        failed = np.log1p(-pass_rate) - np.log1p(-base_rate)
    low = slope(divergence, np.where(pass_rate < 1, failed, 0.0))
    low = np.where(pass_rate < 1, low, slope_at_zero(divergence))
    return slope(divergence, np.log(pass_rate) - np.log(base_rate)) - low


@cache
def slope_at_zero(divergence: FDivergence) -> float:
    """f'(0+) - f'(1): finite if a finite beta already removes every incorrect answer, else -inf."""
    import sympy

    from ..fdivergence import u

    return float(sympy.limit(divergence.derivative, u, 0, "+")) - divergence.gauge


def effective_beta(beta: Scalars, false_positive: Scalars, false_negative: Scalars) -> Values:
    """Equivalent beta for an exact verifier, b/J, if the verifier at hand makes errors.

    Errors are independent of the answer given its correctness, so the mean reward is phi + J v with J = 1 -
    phi - nu. (Errors tied to particular answers are not noise: training maximises the given rewards.) Without
    a KL the path is the same, J times slower. Arguments: beta > 0; phi, the share of incorrect answers
    accepted, and nu, of correct ones rejected, in [0, 1]; shapes broadcast. Returns beta of that shape.
    Raises ValueError unless J > 0, because training then lowers the pass rate.

    >>> float(effective_beta(0.5, 0.05, 0.2).round(4))
    0.6667

    Source: ours, entries `updates_and_means`.
    """
    beta = positive("beta", beta)
    phi, nu = probability("false_positive", false_positive), probability("false_negative", false_negative)
    require_common_shape(beta=beta, false_positive=phi, false_negative=nu)
    left = 1 - phi - nu
    if np.any(left <= 0):
        raise argument_error(
            "false_negative", false_negative, "less than 1 - false_positive: training goes the other way"
        )
    return beta / left
