"""Samples of a policy and its base held against the tilt a exp(r v)/Z: its rate r, the KL to it (A5, E5)."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq

from .verdicts import Estimate, mean

LARGEST_GAIN = 200.0
"""Log odds beyond which a gain counts as infinite."""
RULE_OF_THREE = 3.0
"""What never occurred in n draws has, at 95%, a probability below 3/n."""


class TextSamples(NamedTuple):
    """Of one prompt: verdicts in [0, 1] of the policy's samples and the base's, and log pi/a of the former.

    Prompts of one text are one prompt, whose verdict on an answer is the mean of theirs.
    """

    policy: Float[np.ndarray, " samples"]
    base: Float[np.ndarray, " base_samples"]
    log_ratio: Float[np.ndarray, " samples"]


def log_odds_gain(texts: Sequence[TextSamples]) -> Estimate:
    """The rate r of the tilt a exp(r v)/Z that relates policy to base; inf or -inf where no rate fits.

    For samples y of the tilt and y' of the base, d = v(y) - v(y'), the mean of d exp(-r d/2) is 0 (swapping
    y and y' turns its sign), at any number of samples. The common root over prompts, for verdicts 0 and 1, is
    Mantel and Haenszel's log odds ratio (1959): log sum V (1-A1) - log sum A1 (1-V).
    """
    pairs = [_differences(text) for text in texts]
    values, shares = (np.concatenate(column) for column in zip(*pairs, strict=True))
    where = np.repeat(np.arange(len(texts)), [len(d) for d, _ in pairs])

    def moments(rate: float, power: int) -> np.ndarray:
        return np.bincount(where, shares * values**power * np.exp(-rate * values / 2))

    if not ((values > 0).any() and (values < 0).any()):
        return Estimate(math.inf if (values > 0).any() else -math.inf, math.inf, len(texts))
    root = brentq(lambda rate: moments(rate, 1).sum(), -LARGEST_GAIN, LARGEST_GAIN)
    # Delta method: the root moves by the equation's value over its slope.
    influence = moments(root, 1) / (moments(root, 2).mean() / 2)
    return Estimate(root, mean(influence).standard_error, len(texts))


def _differences(text: TextSamples) -> tuple[np.ndarray, np.ndarray]:
    """Each difference of verdicts, policy less base, and its share of all pairs."""
    (policy, many), (base, often) = (np.unique(side, return_counts=True) for side in text[:2])
    share = np.multiply.outer(many, often) / (many.sum() * often.sum())
    return np.subtract.outer(policy, base).ravel(), share.ravel()


def distance_to_tilt(texts: Sequence[TextSamples], rate: float) -> Estimate:
    """KL(pi || a exp(r v)/Z) = E_pi[log pi/a - r v] + log E_a exp(r v), the mean over prompts.

    The logarithm of a sample mean is corrected to first order in the variance; the correction, and for a
    prompt that no base sample solved what it might have added, bound the bias that is left.
    """
    found = np.array([_distance(text, rate) for text in texts])
    return mean(found[:, 0], bias=float(found[:, 1].mean()))


def _distance(text: TextSamples, rate: float) -> tuple[float, float]:
    n = len(text.base)
    # Divided by exp(r), so that no weight overflows.
    weights = np.exp(rate * (text.base - 1))
    correction = float(weights.var()) / (2 * n * float(weights.mean()) ** 2)
    free_energy = rate + math.log(float(weights.mean())) + correction
    value = float((text.log_ratio - rate * text.policy).mean()) + free_energy
    unsolved = 0.0 if text.base.any() else math.log1p(math.expm1(min(rate, 700.0)) * RULE_OF_THREE / n)
    return value, correction + unsolved
