"""A policy over strategies that all prompts share, trained on sampled groups: which strategy is left.

A strategy answers without looking at the prompt: the policy draws s with probability q_s, and s is correct
on some prompts (success 1) and incorrect on others (0); its merit is the share of prompts that it solves.
What the expected gradient leaves, one strategy or several, is the subject of `retention`. Where it is one,
groups add sampling noise, shared by all prompts: another strategy can win, and takes every prompt with it.

Steps are in logits: `step` times the mean over a step's answers of advantage times score. A step draws
`prompts` prompts by their weights rho, and a group of `group_size` answers to each; advantages are rewards
less their group's mean, over `scale` (`stationary.groups.SCALES`). Source: ours, entries `strategies`.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import cumulative_simpson
from scipy.linalg import solve_banded
from scipy.special import expit, logit, softmax, xlog1py

from ..finite_training.drift import odds_growth, trusted
from ..numeric.arrays import SUM_TOLERANCE, distribution, integers, one, positive, probability, rate, real
from ..stationary.groups import SCALES, group_weight, success_weights
from ..support.errors import argument_error, choice

_GRID, _MOST_CELLS = 4001, 6_000_000
"""Points of log odds between the two ends of a race; the most coefficients of one that is solved exactly."""


def growth_beside(success: Any, rho: Any, *, group_size: int, scale: str = "none") -> np.ndarray:
    """How fast a rare r gains beside s that has all: sum_x rho_x alpha_G(c_xs) (c_xr - c_xs), (r, s).

    Per unit of time and of q_r; where positive, r survives. Of prompts solved always or never it is
    alpha_G(0) rho(r only) - alpha_G(1) rho(s only): undivided and std-normalised, alpha_G is alike at both
    ends, so that the strategy of most merit is stable alone (under the std not the only end: `retention`);
    MaxRL ("mean") has G - 1 and 1.

    Parameters: success (prompts, strategies), the chance that a strategy solves a prompt, in [0, 1]; rho
    (prompts,). Raises ValueError for what are none, or shapes that do not fit.

    >>> growth_beside([[1, 0], [0, 1]], [0.9, 0.1], group_size=12, scale="mean")[1].round(6).tolist()
    [0.2, 0.0]
    """
    success, rho = probability("success", success), distribution("rho", rho)
    if success.ndim != 2 or not success.size or rho.shape != success.shape[:1]:
        raise argument_error("success", success.shape, f"(prompts, strategies), of {rho.size} prompts")
    weight = rho[:, None] * group_weight(group_size, success, scale)
    return success.T @ weight - (weight * success).sum(axis=0)


def chance_to_win(
    share: float, first_only: float, second_only: float, *, group_size: int, step: float, left: float = 0.99
) -> float:
    """The chance that the first of two strategies has a share of `left` before the second has; exact.

    A step is a group. One on prompts that only one of the two solves moves the log odds by 2 step c (G-c)/G^2
    towards that one, c answers being the first's: the noise is which prompt comes, and how mixed it is.
    Groups of two and three have one length of a step: (1 - r^d)/(1 - r^(d+u)), r = second_only/first_only,
    d and u steps down and up. Given time without end the better one always comes back: `left` is the share
    from which the training that is left brings none back.

    Parameters: share of the first, between 1 - left and left; the weights of prompts that only the first, and
    only the second, solves, at most 1 together; advantages not divided. Raises ValueError for numbers out of
    range, and where a step is so small that `chance_of_small_steps` serves.

    >>> round(chance_to_win(0.5, 0.3, 0.2, group_size=2, step=1.0, left=0.9), 4)
    0.8836
    """
    start, end = _boundaries(share, left)
    first_only, second_only = _weights(first_only, second_only)
    group_size = int(one("group_size", integers("group_size", group_size, at_least=2)))
    unit, reach = 2 * one("step", positive("step", step)) / group_size**2, group_size**2 // 4
    if 2 * end * (2 * reach + 1) > _MOST_CELLS * unit:
        raise argument_error("step", step, "larger: use chance_of_small_steps for such small steps")
    unit = min(unit, 2 * end)  # A step over all log odds ends the race, like any longer one.
    low, high = (max(math.ceil(distance / unit - 1e-9), 1) for distance in (end + start, end - start))
    size = low + high - 1
    mixed = success_weights(group_size, expit(start + unit * np.arange(1 - low, high)))
    bands, absorbed, cells = np.zeros((2 * reach + 1, size)), np.zeros(size), np.arange(size)
    for c in range(1, group_size):
        for side, weight in ((1, first_only), (-1, second_only)):
            move = side * c * (group_size - c)
            flow = weight / (first_only + second_only) * mixed[:, c]
            inside = (cells + move >= 0) & (cells + move < size)
            bands[reach] += flow
            bands[reach - move, (cells + move)[inside]] -= flow[inside]
            absorbed += np.where(cells + move >= size, flow, 0.0)
    return float(solve_banded((reach, reach), bands, absorbed)[low - 1])


def chance_of_small_steps(
    share: float,
    first_only: float,
    second_only: float,
    *,
    group_size: int,
    step: float,
    prompts: int = 1,
    left: float = 0.99,
) -> float:
    """The same to first order in the step, for any number of prompts a step.

    The scale function of the diffusion: its slope falls, a unit of log odds, by (prompts/step) times
    (w1 - w2)/(w1 + w2) times G^2/(G - 1 + (G-2)(G-3) q (1-q)). So more prompts a step and smaller steps
    lessen the noise without end, larger groups only while a strategy is rare. Parameters and errors as in
    `chance_to_win`.

    >>> round(chance_of_small_steps(0.1, 0.26, 0.24, group_size=16, step=1.0), 4)
    0.561
    """
    start, end = _boundaries(share, left)
    first_only, second_only = _weights(first_only, second_only)
    group_size = int(one("group_size", integers("group_size", group_size, at_least=2)))
    pace = one("prompts", integers("prompts", prompts, at_least=1)) / positive("step", step)
    preference = (first_only - second_only) / (first_only + second_only)
    lean = one("prompts/step", real("prompts/step", pace, below=1e12)) * preference
    x = np.linspace(-end, end, _GRID)
    wide = group_size - 1 + (group_size - 2) * (group_size - 3) * expit(x) * expit(-x)
    fall = cumulative_simpson(lean * group_size**2 / wide, x=x, initial=0.0)
    scale = cumulative_simpson(np.exp(fall.min() - fall), x=x, initial=0.0)
    return float(np.interp(start, x, scale) / scale[-1])


def log_odds_with_kl(
    share: float, first_only: float, second_only: float, *, beta: float, step: float, groups: int
) -> tuple[float, float]:
    """With a KL in the reward: mean and std of the log odds after so many mixed groups of two; exact.

    Each moves x by (step/2)(1, -1 or 0, who solved it - beta (x - x0)): the mean tends to x0 + (w1 - w2)/beta
    and the std over seeds to about sqrt(step (w1 + w2 - (w1 - w2)^2)/beta)/2: it grows as beta falls, so that
    at a small beta a strategy still wins by the seed. Parameters and errors as in `chance_to_win`; beta step
    below 4.

    >>> [round(x, 4) for x in log_odds_with_kl(0.5, 0.3, 0.2, beta=0.1, step=0.5, groups=10**6)]
    [1.0, 0.7876]
    """
    start = float(logit(one("share", rate("share", share))))
    first, second = _weights(first_only, second_only)
    beta, step = one("beta", positive("beta", beta)), one("step", positive("step", step))
    half = one("beta step", real("beta step", beta * step, at_least=1e-300, below=4)) / 2
    count = int(one("groups", integers("groups", groups, at_least=0)))
    # Of 1 - half, which may be near 1 or negative, the power in logarithms.
    log_size = float(xlog1py(count, -min(half, 2 - half)))
    gone = 1 + math.exp(log_size) if half > 1 and count % 2 else -math.expm1(log_size)
    variance = (first + second - (first - second) ** 2) * -math.expm1(2 * log_size) / (half * (2 - half))
    return start + (first - second) * step / 2 * (gone / half), step / 2 * math.sqrt(variance)


class DriftVariances(NamedTuple):
    """Variances over seeds of the log ratio s of two correct answers: of its mean over prompts, and the rest.

    `number` is that of independent prompts of the same spread: (sum l)^2 / sum l^2, l the eigenvalues of s's
    covariance.
    """

    common: float
    own: float
    number: float


def drift_variances(
    coupling: float,
    *,
    prompts: int,
    base_rate: float,
    reached: float,
    valid: int,
    invalid: int,
    step: float,
    answers: int,
) -> DriftVariances:
    """Sampling noise of prompts whose logits are sqrt(coupling) shared and sqrt(1 - coupling) their own.

    The shared direction drifts as in `finite_training.drift_deviation` with the step times
    (1 + (prompts-1) coupling)/prompts and the answers of all prompts; own directions grow, and drift, slower
    by (1-coupling)/(1 + (prompts-1) coupling). At a coupling of 0.1 all prompts drift nearly as one.

    Parameters: coupling in [0, 1]; prompts trained together, with `answers` a step each; the others as in
    `finite_training.drift_deviation`. First order in the noise. Raises ValueError for numbers out of range.

    >>> kind = dict(prompts=8, base_rate=0.2, reached=0.9, valid=2, invalid=8, step=0.16, answers=16)
    >>> [round(drift_variances(c, **kind).number, 4) for c in (0, 0.1, 1)]
    [8.0, 1.4508, 1.0]
    """
    c = one("coupling", probability("coupling", coupling))
    m = one("prompts", integers("prompts", prompts, at_least=1))
    low, high = one("base_rate", rate("base_rate", base_rate)), one("reached", rate("reached", reached))
    if high < low:
        raise argument_error("reached", reached, "at least the base rate: training without a KL raises it")
    wrong = one("invalid", integers("invalid", invalid, at_least=1))
    right = one("valid", integers("valid", valid, at_least=2))
    power, size = 2 * wrong / (wrong + right), one("step", positive("step", step))
    together, slower = 1 + (m - 1) * c, (1 - c) / (1 + (m - 1) * c)
    noise = power * size * together / m**2 / one("answers", integers("answers", answers, at_least=1))
    shared, apart = odds_growth(np.array(low), np.array(high), power * np.array([1.0, slower]))
    own = slower**2 * apart / shared
    common = (logit(high) - logit(low)) * noise * shared
    if not np.isfinite(common):
        raise argument_error("base_rate", base_rate, "larger, or a smaller step: the drift overflows")
    trusted(np.sqrt(common * (1 + (m - 1) * own)))
    number = (1 + (m - 1) * own) ** 2 / (1 + (m - 1) * own**2)
    return DriftVariances(float(common), float(common * (m - 1) * own), float(number))


def final_policies(
    base: Any,
    success: Any,
    rho: Any,
    *,
    group_size: int,
    step: float,
    steps: int,
    seeds: int,
    rng: np.random.Generator,
    prompts: int = 1,
    scale: str = "none",
    beta: float = 0.0,
) -> np.ndarray:
    """Trainings on sampled groups: the policy (seeds, strategies) at the end of each seed.

    Parameters: base (strategies,), success (prompts, strategies), rho (prompts,); `beta` of a KL in the
    reward, with advantages that are not divided. How often each strategy leads is its chance to win. Raises
    ValueError for values that do not fit.
    """
    base, success, rho = _checked(base, success, rho)
    beta = one("beta", real("beta", beta, at_least=0, below=np.inf))
    choice("scale", scale, ("none", "leave_one_out") if beta else tuple(SCALES))
    size, start = int(one("group_size", integers("group_size", group_size, at_least=2))), np.log(base)
    prompts = int(one("prompts", integers("prompts", prompts, at_least=1)))
    seeds = int(one("seeds", integers("seeds", seeds, at_least=1)))
    pace = one("step", positive("step", step)) / size / prompts
    theta = np.tile(start, (seeds, 1))
    for _ in range(int(one("steps", integers("steps", steps, at_least=0)))):
        q, moved = softmax(theta, axis=-1), np.zeros_like(theta)
        for _ in range(prompts):
            reward = success[rng.choice(len(rho), seeds, p=rho)]
            counts = rng.multinomial(size, q).astype(float)
            spread = SCALES[scale]((counts * reward).sum(axis=-1), size)[:, None]
            reward = reward - beta * (np.log(q) - start) if beta else reward
            centred = reward - (counts * reward).sum(axis=-1, keepdims=True) / size
            moved += counts * np.divide(centred, spread, out=np.zeros_like(theta), where=spread > 0)
        theta = theta + pace * moved
        if not np.isfinite(theta).all():
            raise argument_error("step", step, "smaller, or beta: float64 does not hold the logits")
    return np.asarray(softmax(theta, axis=-1))


def _checked(base: Any, success: Any, rho: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    base, rho = distribution("base", base), distribution("rho", rho)
    real("base", base, above=0)
    success = np.asarray(integers("success", success, at_least=0), dtype=float)
    if base.ndim != 1 or rho.ndim != 1 or success.shape != rho.shape + base.shape or (success > 1).any():
        raise argument_error("success", success.shape, f"zeros and ones of shape {rho.shape + base.shape}")
    return base, success, rho


def _boundaries(share: float, left: float) -> tuple[float, float]:
    """The log odds at the start and at the end."""
    end = one("left", real("left", left, above=0.5, below=1))
    return float(logit(one("share", real("share", share, above=1 - end, below=end)))), float(logit(end))


def _weights(first_only: float, second_only: float) -> tuple[float, float]:
    """The weights of prompts that only the first, and only the second, of two strategies solves."""
    first = one("first_only", real("first_only", first_only, above=0, below=1))
    second = one("second_only", real("second_only", second_only, above=0, below=1))
    if first + second > 1 + SUM_TOLERANCE:
        raise argument_error("second_only", second_only, f"at most 1 - first_only = {1 - first}")
    return first, second
