"""Confidence intervals: one type, `Estimate`, and one home for each method.

Methods: Student's t over seeds or prompts, its logit form for probabilities, weighted resampling for bounded
values (bands over several k), Clopper-Pearson for shares of cases, Jeffreys for pass rates of prompts.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincinv, expit, logit, stdtrit

from .numeric.arrays import Array, Scalars, finite, open_rate, probability, scalar
from .numeric.elementary import Values
from .support.errors import argument_error
from .support.table import Estimate as Estimate
from .support.table import Interval as Interval

LEVEL = 0.95
"""Default confidence of every `Estimate`."""
THREE_SIGMA = 0.0027
"""Accepted rate of calling a true statement inconsistent: three standard deviations, two-sided."""
_MANY = 10_000
"""Above this number of values the mean under random weights is drawn from a normal distribution."""


def mean_interval(values: Array, *, confidence: float = LEVEL) -> Interval[Any]:
    """Mean over seeds with Student's t interval, mean +- t_{n-1} s / sqrt(n).

    Values of shape (seeds, ...) give (...). Unequal values are assumed independent and normal. A single seed
    does not show the spread: its interval is (-inf, inf). Raises ValueError for nan or infinite values, no
    seeds, or a confidence outside (0, 1).
    """
    mean, half = _mean_and_half(finite("values", values), confidence)
    return _interval("Student t", mean, mean - half, mean + half)


def probability_interval(values: Array, *, confidence: float = LEVEL) -> Interval[Any]:
    """Mean over seeds of probabilities, with an interval inside [0, 1].

    The t-interval of the mean m is moved to the logit scale by the delta method, expit(logit m +- t_{n-1} s /
    (sqrt(n) m (1-m))); it is the point m if all seeds are equal. Single zeros and ones are allowed. Shapes
    and errors are those of `mean_interval`, with values in [0, 1]; a single seed has the interval (-inf,
    inf).
    """
    mean, half = _mean_and_half(probability("values", values), confidence)
    # A mean that rounds to 0 or 1 has no logit; its interval is that of the mean itself, clipped.
    inner = np.isfinite(half) & (half > 0) & (mean > 0) & (mean < 1)
    reach = np.divide(half, mean * (1 - mean), out=np.zeros_like(mean), where=inner)
    inside = np.where(inner, mean, 0.5)
    one_seed = ~np.isfinite(half)
    low = np.where(inner, expit(logit(inside) - reach), np.where(one_seed, -half, np.maximum(mean - half, 0)))
    high = np.where(inner, expit(logit(inside) + reach), np.where(one_seed, half, np.minimum(mean + half, 1)))
    return _interval("Student t of the log odds", mean, low, high)


def _interval(method: str, *arrays: Any) -> Interval[Any]:
    """Build an interval of arrays, or of floats if the arrays have no axis."""
    numbers = (float(array) if array.ndim == 0 else array for array in map(np.asarray, arrays))
    return Interval(*numbers, method=method)


def _mean_and_half(values: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    seeds = np.atleast_1d(values)
    level, n = scalar("confidence", open_rate("confidence", confidence)), len(seeds)
    if n == 0:
        raise argument_error("values.shape", np.shape(values), "at least one seed")
    mean = np.asarray(seeds.mean(axis=0))
    if n == 1:
        return mean, np.full_like(mean, np.inf)
    return mean, np.asarray(stdtrit(n - 1, (1 + level) / 2) * seeds.std(axis=0, ddof=1) / np.sqrt(n))


def from_influence(value: float, influence: np.ndarray) -> Estimate:
    """Estimate whose error is, to first order, the mean of influences (n,) with mean zero."""
    spread = mean_interval(influence)
    half = spread.high - spread.value
    return Estimate(value, value - half, value + half, method="Student t of influences")


def bounded_means(
    values: np.ndarray,
    rng: np.random.Generator,
    *,
    low: float = -1.0,
    high: float = 1.0,
    level: float = LEVEL,
    draws: int = 4000,
) -> tuple[np.ndarray, np.ndarray]:
    """Simultaneous bands (K,), (K,) for the means of n independent values (n, K) in [low, high].

    One unseen value is added to the n: `high` for the upper side, `low` for the lower. All n + 1 get weights
    uniform on the simplex. A side is the quantile of such weighted means at one rank for all K, chosen so
    that a share `level` of the draws stays within both sides throughout. If all n values agree, the side is 1
    - 0.05^(1/n) of the way to the end, as it must be: a normal approximation cannot cover values that n
    samples happen to miss. Source: for one mean Gaffke, Math. Methods Stat. 14, 2005, and arXiv 1905.06208,
    where coverage is a conjecture; for K means at once, simulated counts only.
    """
    n, mean = len(values), values.mean(axis=0)
    core, unseen = np.empty((draws, len(mean))), np.empty((draws, 1))
    if n > _MANY:
        away = (values - mean) / n
        spread, directions = np.linalg.eigh(away.T @ away)
        factor = directions * np.sqrt(np.maximum(spread, 0.0))
        core[:] = mean + rng.standard_normal(core.shape) @ factor.T
        unseen[:] = rng.standard_exponential((draws, 1)) / (n + 1)
    for start in range(0, draws if n <= _MANY else 0, 100):
        weights = rng.standard_exponential((min(100, draws - start), n + 1))
        weights /= weights.sum(axis=1, keepdims=True)
        block = slice(start, start + len(weights))
        core[block], unseen[block] = weights[:, :n] @ values, weights[:, n:]
    worst, order = np.zeros(draws, dtype=int), np.arange(1, draws + 1)
    for i in range(len(mean)):
        for side, end in ((1, high), (-1, low)):
            by_size = np.argsort(side * (core[:, i] + end * unseen[:, 0]))
            worst[by_size] = np.maximum(worst[by_size], order)
    rank = int(np.quantile(worst, level, method="higher"))
    upper = np.partition(core + high * unseen, rank - 1, axis=0)[rank - 1]
    lower = np.partition(core + low * unseen, draws - rank, axis=0)[draws - rank]
    return lower, upper


def bounded_mean(values: np.ndarray, rng: np.random.Generator, **options: Any) -> Estimate:
    """Mean of values (n,) with its interval by `bounded_means`, which takes the `options`."""
    below, above = bounded_means(values[:, None], rng, **options)
    return Estimate(float(np.mean(values)), float(below[0]), float(above[0]), method="weighted resampling")


def share(count: int, among: int) -> Estimate:
    """Share count/among of independent cases with its exact (Clopper-Pearson) 95% interval."""
    low = betaincinv(count, among - count + 1, (1 - LEVEL) / 2) if count else 0.0
    high = betaincinv(count + 1, among - count, (1 + LEVEL) / 2) if count < among else 1.0
    return Estimate(count / among, float(low), float(high), method="Clopper-Pearson")


def smoothed_rate(successes: Scalars, samples: Scalars) -> Values:
    """Posterior mean (c + 1/2)/(n + 1) under Jeffreys' prior, from c of n samples; in (0, 1)."""
    return (np.asarray(successes) + 0.5) / (np.asarray(samples) + 1)


class Rate(NamedTuple):
    """Pass rate estimated from `correct` of n rollouts, with Jeffreys' 95% interval."""

    correct: int
    n: int
    low: float
    high: float

    @classmethod
    def of_counts(cls, correct: int, n: int) -> "Rate":
        """Build the rate with the 2.5% and 97.5% quantiles of Beta(correct + 1/2, n - correct + 1/2).

        The ends are 0 and 1 if no, or every, rollout was correct.
        """
        low, high = (float(betaincinv(correct + 0.5, n - correct + 0.5, q)) for q in (0.025, 0.975))
        return cls(correct, n, 0.0 if correct == 0 else low, 1.0 if correct == n else high)

    @property
    def value(self) -> float:
        """Share of correct rollouts."""
        return self.correct / self.n


@dataclass(frozen=True)
class MeanEstimate:
    """Mean over independent units with its standard error; `bias` bounds the systematic error."""

    value: float
    standard_error: float
    units: int
    bias: float = 0.0

    def margin(self, tests: int = 1, level: float = THREE_SIGMA) -> float:
        """Student's t at level/tests times the standard error, plus the bias; inf for fewer than two units.

        The heavy tails of t at few units are why a handful of prompts decides nothing.
        """
        if self.units < 2 or not math.isfinite(self.standard_error):
            return math.inf
        quantile = -float(stdtrit(self.units - 1, level / tests / 2))
        return quantile * self.standard_error + self.bias


def mean_estimate(values: Any, *, bias: float = 0.0) -> MeanEstimate:
    """Mean of values (units,), one for each prompt, and its standard error over prompts.

    Prompts are assumed independent, so their spread includes the noise of their samples.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or values.size == 0:
        raise argument_error("values.shape", values.shape, "(units,), at least one")
    error = float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.inf
    return MeanEstimate(float(values.mean()), error, values.size, bias)
