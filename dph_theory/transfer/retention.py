"""Strategies shared by prompts that an advantage retains: its objective, and where its training ends.

A strategy s answers without looking at the prompt and is correct on some prompts (c_xs = 1); a policy q over
strategies solves prompt x with probability V_x = sum_s q_s c_xs. An advantage whose expected gradient is
alpha(V) grad V ascends J(q) = sum_x rho_x J(V_x), J' = alpha, without a KL: the shape of J decides how many
strategies are left. Undivided, J is linear and one is; divided by the group's mean (MaxRL), or weighed by
V^-p, it is concave, and every base leads to the same pass rates of the trained prompts; divided by the
group's std it is concave up to one half, and there may be several ends: the best strategy alone, and a
mixture of strategies of about equal merit. Source: ours, entries `retention`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import softmax

from ..numeric.arrays import distribution, positive, probability, real, scalar
from ..numeric.elementary import Values
from ..numeric.roots import rising_root
from ..stationary.groups import group_objective, group_weight
from ..support.errors import argument_error

_RARE = 1e-300
"""Smallest share that is distinguished from zero."""
_NARROW = 1e-4
"""Width below which a piece of the curve of level points is searched no further."""


@dataclass(frozen=True)
class Weighting:
    """Weight that an advantage gives a prompt by its pass rate V: alpha(V), and J(V), whose slope it is.

    `falls_until` is the pass rate up to which alpha falls, so that J is concave there: 1 if it falls
    everywhere, 1/2 if it is symmetric about one half and rises again, 0 if it never falls.
    """

    name: str
    weight: Callable[[Values], Values]
    objective: Callable[[Values], Values]
    falls_until: float


def group_weighting(group_size: int, scale: str = "std") -> Weighting:
    """Weighting alpha_G(V) of pass-rate gradients by a group-relative advantage, divided by `scale`.

    Of the std-normalised forms alpha is symmetric about one half and falls up to it from groups of four on;
    the mean's falls everywhere; undivided, and for groups of two or three with the std, it is constant.
    Raises ValueError as `stationary.group_weight` does.
    """
    group_weight(group_size, 0.5, scale)
    until = {"mean": 1.0, "std": 0.5, "population_std": 0.5}.get(scale, 0.0)
    if (until == 0.5 and group_size < 4) or group_size == 2:
        until = 0.0
    return Weighting(
        f"{scale}, groups of {group_size}",
        lambda rate: group_weight(group_size, rate, scale),
        lambda rate: group_objective(group_size, rate, scale),
        until,
    )


def power_weighting(power: float) -> Weighting:
    """Weighting V^-p, p >= 0, which maximises log V at p = 1 and V itself at 0; ValueError for p < 0."""
    p = scalar("power", real("power", power, at_least=0, below=np.inf))

    def objective(rate: Values) -> Values:
        with np.errstate(divide="ignore"):
            return np.log(rate) if p == 1 else np.power(rate, 1 - p) / (1 - p)

    def weight(rate: Values) -> Values:
        with np.errstate(divide="ignore", over="ignore"):
            return np.power(rate, -p)

    return Weighting(f"V^-{p:g}", weight, objective, 1.0 if p else 0.0)


def shared_objective(policy: Any, success: Any, rho: Any, weighting: Weighting) -> Values:
    """J(q) = sum_x rho_x J(V_x), (...), of policies q (..., strategies); V_x = sum_s c_xs q_s.

    `success` is c (prompts, strategies), rho (prompts,). ValueError if these are no probabilities or do not
    fit.
    """
    policy, success, rho = _shared(policy, success, rho)
    return np.asarray(weighting.objective(np.clip(policy @ success.T, 0, 1)) @ rho)


def strategy_drive(policy: Any, success: Any, rho: Any, weighting: Weighting) -> Values:
    """Gradient of `shared_objective` in the strategies' logits, q_s sum_x rho_x alpha(V_x) (c_xs - V_x).

    Parameters and errors are those of `shared_objective`; the result has shape (..., strategies).
    """
    policy, success, rho = _shared(policy, success, rho)
    rates = np.clip(policy @ success.T, 0, 1)
    # Weight and rate together: a prompt without a success adds nothing, whatever its weight.
    weights = np.where(rates > 0, weighting.weight(np.maximum(rates, _RARE)), 0.0) * rho
    return policy * (weights @ success - (weights * rates).sum(axis=-1, keepdims=True))


def trained_shares(base: Any, success: Any, rho: Any, weighting: Weighting, times: Any) -> Values:
    """The policies (times, strategies) along the expected-gradient run from a base that has all strategies.

    Times are steps times the effective logit step. Parameters and errors as in `shared_objective`.

    >>> sets, rho = np.eye(4), [0.27, 0.26, 0.24, 0.23]
    >>> trained_shares([0.4, 0.3, 0.2, 0.1], sets, rho, group_weighting(8, "none"), [1e5])[0].round(3)
    array([1., 0., 0., 0.])
    >>> trained_shares([0.4, 0.3, 0.2, 0.1], sets, rho, group_weighting(8, "mean"), [1e4])[0].round(3)
    array([0.281, 0.266, 0.235, 0.218])
    """
    base, success, rho = _shared(distribution("base", base), success, rho)
    real("base", base, above=0)
    moments = real("times", times, at_least=0, below=np.inf)
    if base.ndim != 1 or moments.ndim != 1 or not moments.size or (np.diff(moments) <= 0).any():
        shapes = {"base": base.shape, "times": moments.tolist()}
        raise argument_error("shapes", shapes, "one base, and a sequence of times that rise")
    run: Any = solve_ivp(
        lambda _, theta: strategy_drive(softmax(theta), success, rho, weighting),
        (0.0, max(float(moments.max()), 1e-9)),
        np.log(base),
        t_eval=moments,
        method="LSODA",
        rtol=1e-10,
        atol=1e-12,
    )
    return np.asarray(softmax(run.y.T, axis=-1))


def retained_shares(merits: Any, weighting: Weighting) -> Values:
    """Every stable end of training, for strategies of which no two solve a prompt together.

    At an end the retained strategies are level, ``rho_s alpha(q_s) = lambda``, and a lost one has
    ``rho_s alpha(0) <= lambda``. Where alpha never falls, the strategy of most merit is left alone. Where
    alpha falls everywhere, one mixture is the only end. Where alpha falls up to one half and rises again
    (divided by the std, groups of four or more), the best strategy alone is one end and there may be mixtures
    beside it; the starting shares decide between them. There at most one share of an end exceeds one half,
    and only the best strategy's, so the level points lie on one curve over that share.

    Args:
        merits: Share of the prompts that each strategy solves, positive, any sum, shape ``(strategies,)``.
        weighting: How the advantage weighs a prompt by its pass rate.

    Returns:
        The ends, shape ``(ends, strategies)``, each of sum one, in order of the best strategy's share. Of
        strategies that tie for the most merit a stable end may keep any split: without a falling alpha the
        equal split is listed, and of two such beside the std the equal split, or each alone if a third
        strategy gains at the equal split.

    Raises:
        ValueError: If merits are not positive or not one number a strategy.

    Example:
        >>> retained_shares([1, 0.9, 0.9], group_weighting(8)).round(4)
        array([[0.5598, 0.2201, 0.2201],
               [1.    , 0.    , 0.    ]])
        >>> retained_shares([3, 2, 1], power_weighting(1.0)).round(4)
        array([[0.5   , 0.3333, 0.1667]])

    Source: ours, entries `retention`.
    """
    merits = positive("merits", merits)
    if merits.ndim != 1 or not merits.size:
        raise argument_error("merits", merits.shape, "one number a strategy")
    best = merits == merits.max()
    if merits.size == 1 or not weighting.falls_until:
        return (best / best.sum())[None]
    if weighting.falls_until == 1:
        return _water_filling(np.log(merits), weighting)[None]
    if best.sum() > 2:
        return _water_filling(np.log(merits), weighting)[None]
    if best.sum() == 2:
        mixture = _water_filling(np.log(merits), weighting)
        third = (mixture[~best] > 0).any()
        return np.concatenate([mixture[None], np.eye(merits.size)[best]]) if third else mixture[None]
    return _ends_of_one_leader(merits, weighting)


def _level_shares(log_merits: Values, log_level: Values, weighting: Weighting) -> Values:
    """Shares (levels, strategies) at which prompt weight times alpha equals the level; 0 if none does."""
    top = np.asarray(weighting.falls_until)
    return rising_root(
        lambda share, target: target[..., 0] - _log_weight(weighting, share),
        *(np.zeros(()), top, (log_level[..., None] - log_merits)[..., None]),
    )


def _water_filling(log_merits: Values, weighting: Weighting) -> Values:
    """Shares (strategies,) that sum to one, at one level of prompt weight times alpha (water filling)."""
    top, most = np.asarray(weighting.falls_until), log_merits.max()
    # Between the level at which the best would have all that it may, and the one at which nobody has any.
    low = np.maximum(np.asarray(most + _log_weight(weighting, top)), most - 700.0)
    high = np.asarray(most + min(float(_log_weight(weighting, np.asarray(_RARE))), 700.0))
    level = rising_root(lambda x: 1 - _level_shares(log_merits, x, weighting).sum(axis=-1), low, high)
    shares = _level_shares(log_merits, np.asarray(level), weighting)
    return np.asarray(shares / shares.sum())


def _ends_of_one_leader(merits: Values, weighting: Weighting) -> Values:
    """Stable shares (ends, strategies) for alpha symmetric about 1/2, where one strategy exceeds 1/2."""
    leader, log_merits = int(merits.argmax()), np.log(merits)
    rivals = np.delete(log_merits, leader)

    def partners(share: Values) -> Values:
        level = log_merits[leader] + _log_weight(weighting, np.minimum(share, 1 - share))
        return _level_shares(rivals, level, weighting)

    def excess(share: Values) -> Values:
        return share + partners(share).sum(axis=-1) - 1

    # Below one half the total rises: one crossing, if it reaches one there. Above, its slope is at most one
    # and at least one minus the sum of the ratios of merits.
    steepest = max(1.0, float((merits[leader] / np.delete(merits, leader)).sum()) - 1)
    half, none = np.asarray(0.5), np.zeros(())
    crossings = [float(rising_root(excess, none, half))] if excess(np.array([0.5]))[0] >= 0 else []
    # From this share of the leader on, the weight of even an empty rival is below the leader's.
    entry = rivals.max() + _log_weight(weighting, none)
    alone = 1 - float(_level_shares(log_merits[leader : leader + 1], entry, weighting)[..., 0])
    crossings += _upward_crossings(excess, alone, steepest)
    ends = [np.insert(partners(np.array([share]))[0], leader, share) for share in crossings]
    return np.array([*ends, np.eye(merits.size)[leader]])


def _upward_crossings(excess: Callable[[Values], Values], top: float, steepest: float) -> list[float]:
    """Points between 1/2 and `top` at which a function with |slope| <= `steepest` becomes positive."""
    if top <= 0.5:
        return []
    ends = np.linspace(0.5, top, 33)
    low, high = ends[:-1], ends[1:]
    while True:
        below, above = excess(low), excess(high)
        # A zero inside takes a rise and a fall that together are no steeper than allowed.
        possible = (below * above <= 0) | (np.abs(below) + np.abs(above) <= steepest * (high - low))
        low, high, rises = low[possible], high[possible], (below < 0)[possible] & (above >= 0)[possible]
        if not low.size or (high - low).max() < _NARROW:
            return [float(rising_root(excess, a, b)) for a, b in zip(low[rises], high[rises], strict=True)]
        middle = (low + high) / 2
        low, high = np.sort(np.concatenate([low, middle])), np.sort(np.concatenate([middle, high]))


def _log_weight(weighting: Weighting, rate: Values) -> Values:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(weighting.weight(np.maximum(rate, _RARE))))


def _shared(policy: Any, success: Any, rho: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    policy, rho = distribution("policy", policy), distribution("rho", rho)
    success = probability("success", success)
    if success.shape != (rho.shape[-1], policy.shape[-1]) or rho.ndim != 1:
        allowed = f"(prompts, strategies) = ({rho.shape[-1]}, {policy.shape[-1]})"
        raise argument_error("success", success.shape, allowed)
    return policy, success, rho
