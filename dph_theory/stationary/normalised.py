"""Stationary policies of std-normalised runs: those of beta/alpha_G(V), V the policy's own pass rate.

V solves an equation that can have several roots; the start of a run decides which root the run reaches.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..divergences import REVERSE_KL
from ..fdivergence import FDivergence
from ..numeric.arrays import Scalars, open_rate, positive, probability
from ..numeric.elementary import Values, expit, logit
from ..support.errors import argument_error
from ..support.record import readable
from .groups import FARTHEST_LOGIT, group_weight, group_weight_slope, mixed_share
from .response import require_smooth, slope
from .sequence import pass_rate_drive

_GRID = 4001  # Points of the grid, even in logit V, on which sign changes are sought.
_TREE_GRID = 129
_REFINEMENTS, _FINER = 6, 33
"""Number of refinements, and points of each, where two roots may lie between two points of the grid."""


class StationaryValidity(NamedTuple):
    """A pass rate at which a std-normalised run is stationary, and whether nearby runs approach it."""

    def __repr__(self) -> str:
        return readable(self)

    pass_rate: float
    stable: bool


def normalised_validities(
    base_rate: float,
    beta: float,
    group_size: int,
    scale: str = "std",
    divergence: FDivergence = REVERSE_KL,
    *,
    mixed_only: bool = False,
) -> tuple[StationaryValidity, ...]:
    """All roots mu of f'(mu/A1) - f'((1-mu)/A0) = alpha_G(mu)/beta, in increasing order, with stability.

    Reverse KL: logit mu = logit A1 + alpha_G(mu)/beta. The equation describes a single decision, or a penalty
    on whole answers. A root is stable if the left side crosses from below. With `mixed_only`, groups of equal
    rewards are dropped together with their KL, as `mixed_share` weighs. Raises ValueError unless 0 <
    base_rate < 1 and beta > 0. Source: ours, entries `group_advantages`.
    """
    from scipy.optimize import brentq

    rise = _rise(base_rate, beta, group_size, scale, divergence, mixed_only)
    grid = np.linspace(logit(np.asarray(base_rate)), FARTHEST_LOGIT, _GRID)
    grid = _with_folds(rise, grid)
    # If a root is a point of the grid its sign is zero, which counts as not rising.
    rises = rise(grid) > 0
    roots = []
    for i in np.flatnonzero(rises[:-1] != rises[1:]):
        root = brentq(rise, grid[i], grid[i + 1], xtol=1e-14, rtol=1e-14)
        roots.append(StationaryValidity(float(expit(np.asarray(root))), bool(rises[i])))
    if rises[-1]:
        roots.append(StationaryValidity(1.0, True))
    return tuple(roots)


def _with_folds(function: Callable[[Values], Values], grid: np.ndarray) -> np.ndarray:
    """Grid with points added where the function may touch zero between two neighbours."""
    # Near a fold two roots lie within one step whose end points have one sign. The function turns in between,
    # and the parabola through three points shows whether it may reach zero.
    values = function(grid)
    for _ in range(_REFINEMENTS):
        sides, height = np.sign(values), np.abs(values)
        before, mid, after = height[:-2], height[1:-1], height[2:]
        near = (mid < before) & (mid <= after) & (sides[:-2] == sides[1:-1]) & (sides[1:-1] == sides[2:])
        bend = np.where(near, before - 2 * mid + after, 1.0)
        near &= (after - before) ** 2 > 4 * bend * mid
        if not near.any():
            break
        i = np.flatnonzero(near) + 1
        finer = np.linspace(grid[i - 1], grid[i + 1], _FINER).ravel()
        order = np.argsort(np.concatenate([grid, finer]) * np.sign(grid[-1] - grid[0]), kind="stable")
        grid = np.concatenate([grid, finer])[order]
        values = np.concatenate([values, function(finer)])[order]
    return grid


def several_policies_below(group_size: int, scale: str = "std") -> float:
    """Base rate below which some beta has several stationary policies under the reverse KL; 0 if none.

    At the largest such base rate two roots meet: alpha_G'(mu) mu (1-mu) = beta, and logit A1 = logit mu -
    alpha_G(mu)/beta, maximised over mu. G = 4: 3e-16, 8: .0027, 16: .094, 32: .33. Source: ours, entries
    `group_advantages`.
    """
    log_odds = np.linspace(-FARTHEST_LOGIT / 2, FARTHEST_LOGIT / 2, 5 * _GRID)
    mu, failed = expit(log_odds), expit(-log_odds)
    weight = group_weight(group_size, mu, scale)
    beta = group_weight_slope(group_size, mu, scale) * mu * failed
    rises = beta > 1e-12
    start = np.where(rises, log_odds - weight / np.where(rises, beta, 1.0), -np.inf)
    return float(expit(start.max()))


def normalised_pass_rate_at(
    base_rate: Scalars,
    beta: Scalars,
    group_size: int,
    scale: str = "std",
    divergence: FDivergence = REVERSE_KL,
    *,
    start: Scalars | None = None,
) -> Values:
    """Pass rate that a std-normalised run reaches from `start` (by default the base's own pass rate).

    From there the pass rate moves to the nearest root of `normalised_validities` in the direction of its
    gradient. Shapes broadcast; base rates 0 and 1 stay. Errors are those of `normalised_validities`. Source:
    ours, entries `group_advantages`.
    """
    base_rate = probability("base_rate", base_rate)
    start = base_rate if start is None else probability("start", start)

    def reached(a: float, b: float, s: float) -> float:
        if a in (0.0, 1.0):
            return a
        roots = normalised_validities(a, b, group_size, scale, divergence)
        below = [root for root in roots if root.pass_rate <= s]
        # The nearest root below attracts if it is stable; if it is unstable, the root above does.
        if below and (below[-1].stable or below[-1].pass_rate == s):
            return below[-1].pass_rate
        return roots[len(below)].pass_rate

    settings = np.stack(np.broadcast_arrays(base_rate, positive("beta", beta), start), axis=-1)
    # Rates from counts repeat: each distinct case is solved once.
    cases, place = np.unique(settings.reshape(-1, 3), axis=0, return_inverse=True)
    pass_rates = np.array([reached(*case) for case in cases.tolist()])
    return pass_rates[place].reshape(settings.shape[:-1])


def _rise(
    base_rate: float,
    beta: float,
    group_size: int,
    scale: str,
    divergence: FDivergence,
    mixed_only: bool = False,
) -> Callable[[Values], Values]:
    """alpha_G(mu)/beta minus the penalty's gradient, over logit mu: positive where the pass rate grows."""
    require_smooth(divergence)
    base, strength = open_rate("base_rate", base_rate), 1 / positive("beta", beta)
    if base.ndim or strength.ndim:
        raise argument_error("base_rate, beta", (base_rate, beta), "one number each")
    start = logit(base)

    def rise(log_odds: Values) -> Values:
        mu = expit(np.asarray(log_odds))
        # The log odds are used directly where possible: mu rounds to one beyond log odds of 36.
        cost = log_odds - start if divergence == REVERSE_KL else pass_rate_drive(base, mu, divergence)
        if mixed_only:
            of_right, of_wrong = (np.log(mu / base), np.log(expit(-np.asarray(log_odds)) / (1 - base)))
            right, wrong = mixed_share(group_size, mu)
            cost = right * slope(divergence, of_right) - wrong * slope(divergence, of_wrong)
        return strength * group_weight(group_size, mu, scale) - cost

    return rise
