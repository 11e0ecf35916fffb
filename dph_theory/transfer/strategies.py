"""A policy over strategies that all prompts share, with a KL in the reward: how far chance moves it.

A strategy answers without looking at the prompt: the policy draws strategy s with probability q_s, and s is
correct on some prompts (success 1) and incorrect on others (0). The merit of a strategy is the share of
prompts that it solves. `retention` computes how many strategies the expected gradient retains. If it retains
one, the sampling noise of groups, which all prompts share, can make another strategy win on every prompt.

A step changes the logits by `step` times the mean over its answers of advantage times score. Advantages are
rewards minus the mean of their group. Source: ours, entries `strategies`.
"""

import math

from scipy.special import logit, xlog1py

from ..numeric.arrays import SUM_TOLERANCE, integers, open_rate, positive, real, scalar
from ..support.errors import argument_error


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
    start = float(logit(scalar("share", open_rate("share", share))))
    first = scalar("first_only", real("first_only", first_only, above=0, below=1))
    second = scalar("second_only", real("second_only", second_only, above=0, below=1))
    if first + second > 1 + SUM_TOLERANCE:
        raise argument_error("second_only", second_only, f"at most 1 - first_only = {1 - first}")
    beta, step = scalar("beta", positive("beta", beta)), scalar("step", positive("step", step))
    half = scalar("beta step", real("beta step", beta * step, at_least=1e-300, below=4)) / 2
    count = int(scalar("groups", integers("groups", groups, at_least=0)))
    # Of 1 - half, which may be near 1 or negative, the power in logarithms.
    log_size = float(xlog1py(count, -min(half, 2 - half)))
    gone = 1 + math.exp(log_size) if half > 1 and count % 2 else -math.expm1(log_size)
    variance = (first + second - (first - second) ** 2) * -math.expm1(2 * log_size) / (half * (2 - half))
    return start + (first - second) * step / 2 * (gone / half), step / 2 * math.sqrt(variance)
