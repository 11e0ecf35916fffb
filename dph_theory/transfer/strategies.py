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
from typing import Any

import numpy as np
from scipy.special import logit, softmax, xlog1py

from ..numeric.arrays import SUM_TOLERANCE, distribution, integers, one, positive, rate, real
from ..stationary.groups import SCALES
from ..support.errors import argument_error, choice


def log_odds_with_kl(
    share: float, first_only: float, second_only: float, *, beta: float, step: float, groups: int
) -> tuple[float, float]:
    """With a KL in the reward: mean and std of the log odds after so many mixed groups of two; exact.

    Each moves x by (step/2)(1, -1 or 0, who solved it - beta (x - x0)): the mean tends to x0 + (w1 - w2)/beta
    and the std over seeds to about sqrt(step (w1 + w2 - (w1 - w2)^2)/beta)/2: it grows as beta falls, so that
    at a small beta a strategy still wins by the seed.

    Parameters: share of the first; the weights of prompts that only the first, and only the second, solves,
    at most 1 together; beta step below 4. ValueError for numbers out of range.

    >>> [round(x, 4) for x in log_odds_with_kl(0.5, 0.3, 0.2, beta=0.1, step=0.5, groups=10**6)]
    [1.0, 0.7876]
    """
    start = float(logit(one("share", rate("share", share))))
    first = one("first_only", real("first_only", first_only, above=0, below=1))
    second = one("second_only", real("second_only", second_only, above=0, below=1))
    if first + second > 1 + SUM_TOLERANCE:
        raise argument_error("second_only", second_only, f"at most 1 - first_only = {1 - first}")
    beta, step = one("beta", positive("beta", beta)), one("step", positive("step", step))
    half = one("beta step", real("beta step", beta * step, at_least=1e-300, below=4)) / 2
    count = int(one("groups", integers("groups", groups, at_least=0)))
    # Of 1 - half, which may be near 1 or negative, the power in logarithms.
    log_size = float(xlog1py(count, -min(half, 2 - half)))
    gone = 1 + math.exp(log_size) if half > 1 and count % 2 else -math.expm1(log_size)
    variance = (first + second - (first - second) ** 2) * -math.expm1(2 * log_size) / (half * (2 - half))
    return start + (first - second) * step / 2 * (gone / half), step / 2 * math.sqrt(variance)


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
