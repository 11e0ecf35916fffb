"""Confidence intervals for means over seeds: of any numbers, and of probabilities."""

from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import expit, logit

from .numeric.arrays import Array, finite, probability, rate
from .numeric.balls import Values
from .support.errors import argument_error


class Interval(NamedTuple):
    """A mean with its confidence interval [low, high], arrays of one shape."""

    mean: Values
    low: Values
    high: Values


def mean_interval(values: Array, *, confidence: float = 0.95) -> Interval:
    """The mean over seeds with its Student-t interval, mean +- t_{n-1} s / sqrt(n).

    values (n seeds, ...) give (...). Unequal values are taken as independent and
    normal. A single seed says nothing of the spread: its interval is (-inf, inf).
    Raises ValueError for nan or infinite values, no seeds, or a confidence outside (0, 1).
    """
    mean, half = _mean_and_half(finite("values", values), confidence)
    return Interval(mean, mean - half, mean + half)


def probability_interval(values: Array, *, confidence: float = 0.95) -> Interval:
    """The mean over seeds of probabilities with an interval that stays inside [0, 1].

    The t-interval of the mean m, moved to the logit scale by the delta method,
    expit(logit m +- t_{n-1} s / (sqrt(n) m (1-m))); the point m itself where all seeds are equal. Single
    zeros and ones are allowed. Shapes and errors as `mean_interval`, and values in [0, 1]; a single seed has
    the interval (-inf, inf).
    """
    mean, half = _mean_and_half(probability("values", values), confidence)
    known = np.isfinite(half) & (half > 0)
    # A mean of 0 or 1 has no spread, so it is never divided by.
    reach = np.divide(half, mean * (1 - mean), out=np.zeros_like(mean), where=known)
    low, high = (np.where(known, expit(logit(mean) + side * reach), mean + side * half) for side in (-1, 1))
    return Interval(mean, low, high)


def _mean_and_half(values: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """The mean over the seeds, and half the width of its t-interval."""
    seeds = np.atleast_1d(values)
    level, n = float(rate("confidence", confidence)), len(seeds)
    if n == 0:
        raise argument_error("values.shape", np.shape(values), "at least one seed")
    mean = np.asarray(seeds.mean(axis=0))
    if n == 1:
        return mean, np.full_like(mean, np.inf)
    return mean, np.asarray(stats.t.ppf((1 + level) / 2, n - 1) * seeds.std(axis=0, ddof=1) / np.sqrt(n))
