"""Pass rates after training as a law predicts them from the base's counts, against those seen."""

from dataclasses import dataclass

import numpy as np

from .estimate import Estimate, mean_of
from .pairs import Pairs

_BINS = 10


@dataclass(frozen=True)
class Bin:
    """Prompts of like predictions: their mean predicted rate, and the mean rate seen."""

    prompts: int
    predicted: float
    seen: Estimate


def calibration(pairs: Pairs, predicted: np.ndarray) -> tuple[Bin, ...]:
    """At most ten bins of as many prompts each, by predicted rate (prompts,)."""
    groups = np.array_split(np.argsort(predicted, kind="stable"), min(_BINS, max(1, len(pairs) // 5)))
    seen = pairs.run_c / pairs.run_n
    return tuple(Bin(len(g), float(predicted[g].mean()), _rate(seen[g])) for g in groups)


def _rate(values: np.ndarray) -> Estimate:
    """The mean of rates, its interval cut where no rate can be."""
    found = mean_of(values)
    return Estimate(found.value, max(found.low, 0.0), min(found.high, 1.0))
