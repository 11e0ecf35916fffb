"""Spread of pass rates over prompts, fitted to counts.

The spread is a distribution on a grid of rates, fitted by expectation-maximisation from Jeffreys's prior,
uniform in arcsin sqrt p; it shrinks a rate of 0 of n. The fit stops long before the maximum of the
likelihood, which would be a few spikes.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, xlog1py

from ..numeric.elementary import normalised

_STEPS = 200
"""Steps of expectation-maximisation."""
_PER_DEVIATION = 2.5
"""Points of the grid per standard deviation of an estimated rate, on the scale of arcsin sqrt p."""
_FEWEST, _MOST = 121, 601
_NEAR_END = np.logspace(-9, -4.3, 10)
"""Rates between 0 and the grid's first, and between its last and 1."""


def rate_grid(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Grid of pass rates in [0, 1] fine enough for n answers, and Jeffreys prior weights; both (grid,)."""
    size = int(np.clip(_PER_DEVIATION * np.pi * np.sqrt(n), _FEWEST, _MOST))
    inner = np.sin(np.linspace(0, np.pi / 2, size)) ** 2
    rates = np.unique(np.concatenate([inner, _NEAR_END, 1 - _NEAR_END]))
    angles = np.arcsin(np.sqrt(rates))
    weights = np.diff(np.concatenate([angles[:1], (angles[1:] + angles[:-1]) / 2, angles[-1:]]))
    return rates, weights / weights.sum()


def likelihood(n: np.ndarray, c: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Binomial probability of c of n correct at each rate, shape (counts, rates)."""
    # The logarithm of the least number is finite, so that none correct of none possible has chance one.
    right, wrong = (np.log(np.maximum(x, np.finfo(float).tiny)) for x in (rates, 1 - rates))
    log = c[:, None] * right + (n - c)[:, None] * wrong
    log += (gammaln(n + 1) - gammaln(c + 1) - gammaln(n - c + 1))[:, None]
    return np.exp(log, out=log)


@dataclass(frozen=True, eq=False, repr=False)
class RateSpread:
    """Distribution of pass rates over prompts: `rates` and `weights`, shape (grid,)."""

    rates: np.ndarray
    weights: np.ndarray

    def solved_in(self, n: np.ndarray, c: np.ndarray, k: np.ndarray) -> np.ndarray:
        """Probability that k more answers contain a correct one, given c of n correct; (prompts,)."""
        key, place = np.unique(np.stack([n, c, k]), axis=1, return_inverse=True)
        posterior = normalised(likelihood(key[0], key[1], self.rates) * self.weights)
        missed = np.exp(xlog1py(key[2][:, None].astype(float), -self.rates))
        return ((posterior * (1 - missed)).sum(axis=1))[place]


def rate_spread(n: np.ndarray, c: np.ndarray, most: int = 0) -> RateSpread:
    """Fit the distribution of pass rates to c of n, both (prompts,), on a grid for up to `most` answers."""
    rates, weights = rate_grid(max(most, int(n.max())))
    key, prompts = np.unique(np.stack([n, c]), axis=1, return_counts=True)
    chances = likelihood(key[0], key[1], rates)
    for _ in range(_STEPS):
        chance = chances @ weights
        # Counts that no rate of the grid explains say nothing of the weights.
        weights = weights * (
            np.divide(prompts, chance, out=np.zeros_like(chance), where=chance > 0) @ chances
        )
        weights = weights / weights.sum()
    return RateSpread(rates, weights)
