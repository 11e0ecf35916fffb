"""Numbers with their intervals, prompts being the units that are drawn."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy import stats

from ..intervals import mean_interval

LEVEL = 0.95
"""The confidence of every interval."""
MOST_PROMPTS = 10_000
"""Of more prompts so many decide between the laws."""
NORMAL = NormalDist().inv_cdf((1 + LEVEL) / 2)


@dataclass(frozen=True)
class Estimate:
    """A number with its confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """For a table: the number and its interval."""
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"


def mean_of(values: np.ndarray) -> Estimate:
    """The mean over prompts with its Student-t interval; a single prompt has (-inf, inf)."""
    return Estimate(*map(float, mean_interval(values, confidence=LEVEL)))


def from_influence(value: float, influence: np.ndarray) -> Estimate:
    """An estimate whose error is the mean of the prompts' influences, of mean zero, to first order."""
    spread = mean_of(influence)
    half = spread.high - spread.value
    return Estimate(value, value - half, value + half)


def share(found: int, among: int) -> Estimate:
    """A share of independent cases with its exact (Clopper-Pearson) interval."""
    bounds = stats.binomtest(found, among).proportion_ci(LEVEL, "exact")
    return Estimate(found / among, float(bounds.low), float(bounds.high))
