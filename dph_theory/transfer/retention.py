"""What an advantage retains of the strategies that prompts share: its objective, and the policy of its end.

A strategy s answers without looking at the prompt and is correct on some prompts (c_xs = 1); a policy q over
strategies solves prompt x with probability V_x = sum_s q_s c_xs. An advantage whose expected gradient is
alpha(V) grad V ascends J(q) = sum_x rho_x J(V_x), J' = alpha, without a KL: the shape of J decides how many
strategies are left. Undivided, J is linear and one is; divided by the group's mean (MaxRL), or weighed by
V^-p, it is concave, and one mixture is the end whatever the base; divided by the group's std it is concave up
to one half, and strategies of about equal merit coexist. Source: ours, entries `retention`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import softmax

from ..numeric.arrays import Scalars, distribution, open_rate, positive, probability, real, scalar
from ..numeric.elementary import Values
from ..numeric.roots import rising_root
from ..stationary.groups import SCALES, group_objective, group_weight, success_weights
from ..support.errors import argument_error

_RARE = 1e-300
"""The smallest share that is told from none."""


@dataclass(frozen=True)
class Weighting:
    """How an advantage weighs a prompt by its pass rate V: alpha(V), and J(V), whose slope it is.

    `falls_until` is the pass rate up to which alpha falls, so that J is concave there; 0 where it never does.
    """

    name: str
    weight: Callable[[Values], Values]
    objective: Callable[[Values], Values]
    falls_until: float


def group_weighting(group_size: int, scale: str = "std") -> Weighting:
    """The weighting of a group-relative advantage, divided as `stationary.groups.SCALES` names it.

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
    """V^-p for p >= 0: the log of the pass rate at p = 1, the pass rate itself at 0. ValueError below 0."""
    p = scalar("power", real("power", power, at_least=0, below=np.inf))

    def objective(rate: Values) -> Values:
        with np.errstate(divide="ignore"):
            return np.log(rate) if p == 1 else np.power(rate, 1 - p) / (1 - p)

    def weight(rate: Values) -> Values:
        with np.errstate(divide="ignore", over="ignore"):
            return np.power(rate, -p)

    return Weighting(f"V^-{p:g}", weight, objective, 1.0 if p else 0.0)


def shared_objective(policy: Any, success: Any, rho: Any, weighting: Weighting) -> Values:
    """J(q) = sum_x rho_x J(V_x) of policies (..., strategies); success (prompts, strategies), rho (prompts,).

    ValueError for what are no probabilities, or shapes that do not fit.
    """
    policy, success, rho = _shared(policy, success, rho)
    return np.asarray(weighting.objective(np.clip(policy @ success.T, 0, 1)) @ rho)


def strategy_drive(policy: Any, success: Any, rho: Any, weighting: Weighting) -> Values:
    """The expected-gradient motion of the strategies' logits: q_s sum_x rho_x alpha(V_x) (c_xs - V_x).

    Parameters and errors as in `shared_objective`; (..., strategies). It is the gradient of the objective.
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
    """The end of training that starts with all strategies, of which no two solve a prompt together.

    Water filling: rho_s alpha(q_s) = lambda where q_s > 0; a strategy is lost where rho_s alpha(0) is at most
    lambda. Where alpha does not fall, or shares would pass the rate up to which it does, the strategy of most
    merit is left alone.

    Parameters: merits (strategies,), the shares of prompts that each solves, positive, of any sum; equal ones
    share alike. Returns (strategies,), which sum to one. ValueError for merits that are not positive.

    >>> retained_shares([1, 0.95, 0.9, 0.85], group_weighting(8)).round(4)
    array([0.3814, 0.2752, 0.2022, 0.1411])
    >>> retained_shares([3, 2, 1], power_weighting(1.0)).round(4)
    array([0.5   , 0.3333, 0.1667])
    """
    merits = positive("merits", merits)
    if merits.ndim != 1 or not merits.size:
        raise argument_error("merits", merits.shape, "one number a strategy")
    best = merits == merits.max()
    alone = best / best.sum()
    until = weighting.falls_until
    if not until:
        return alone
    log_merits, zero, top = np.log(merits), np.zeros(()), np.asarray(until)

    def shares(log_level: Values) -> Values:
        """The shares (levels, strategies) at which merit times weight is the level."""
        gap = log_level[..., None] - log_merits
        return rising_root(
            lambda share, target: target[..., 0] - _log_weight(weighting, share), zero, top, gap[..., None]
        )

    # Between the level at which the best would have all that it may, and the one at which nobody has any.
    low = np.asarray(log_merits.max() + _log_weight(weighting, top))
    low = np.maximum(low, log_merits.max() - 700.0)
    high = np.asarray(log_merits.max() + min(float(_log_weight(weighting, np.asarray(_RARE))), 700.0))
    if shares(low).sum() < 1:
        return alone
    level = rising_root(lambda x: 1 - shares(x).sum(axis=-1), low, high)
    ends = shares(np.asarray(level))
    return np.asarray(ends / ends.sum())


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


def update_moments(group_size: int, pass_rate: Scalars, scale: str = "std") -> tuple[Values, Values]:
    """Mean and variance of a group's update of a prompt's log odds, (1/G) sum_i A_i (v_i - V); by all counts.

    The mean is alpha_G(V) V (1-V). Over its square the second moment is about 1/(G V) where successes are
    rare, whatever advantages are divided by: a division adds no relative noise to such a prompt, and decides
    how much of the noise of all prompts is of the rare. Shapes and errors as in `stationary.group_weight`.

    >>> moments = [update_moments(8, 0.05, form) for form in ("none", "std", "mean")]
    >>> [round(float(variance / mean**2), 3) for mean, variance in moments]
    [2.167, 2.012, 1.983]
    """
    mean = group_weight(group_size, pass_rate, scale) * np.multiply(pass_rate, np.subtract(1, pass_rate))
    correct = np.arange(1, group_size)
    updates = correct * (group_size - correct) / group_size**2 / SCALES[scale](correct, group_size)
    chances = success_weights(group_size, probability("pass_rate", pass_rate))[..., 1:-1]
    return mean, (chances * updates**2).sum(axis=-1) - mean**2


def useful_share(
    pass_rate: Scalars, error_rate: Scalars, weighting: Weighting, *, unsolvable: Scalars = 0.5
) -> Values:
    """The share of the drive that goes to correct answers, where a verifier errs on the same answers always.

    Prompts of pass rate V, and a share `unsolvable` of others, on which nothing is correct and an answer of
    probability e passes; each drives its log odds by alpha(V) V (1-V). Where alpha falls, the share is
    smaller than the undivided advantage's for e < V and larger for e > V. ValueError for rates not in (0, 1).

    >>> forms = [group_weighting(16, form) for form in ("none", "std", "mean")]
    >>> [[round(float(useful_share(0.25, e, form)), 3) for form in forms] for e in (0.01, 0.4)]
    [[0.95, 0.918, 0.842], [0.439, 0.466, 0.552]]
    """
    part = probability("unsolvable", unsolvable)
    rates = open_rate("pass_rate", pass_rate), open_rate("error_rate", error_rate)
    useful, useless = (weighting.weight(v) * v * (1 - v) for v in rates)
    return np.asarray((1 - part) * useful / ((1 - part) * useful + part * useless))
