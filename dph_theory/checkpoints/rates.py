"""Pass rates behind counts: how they are spread over prompts.

The spread is a distribution on a grid of rates, fitted by expectation-maximisation from Jeffreys's prior,
uniform in arcsin sqrt p; it shrinks a rate of 0 of n. It stops long before the maximum of the likelihood,
which would be a few spikes.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, xlog1py

from ..numeric.elementary import normalised
from ..support.record import Readable

_STEPS = 200
"""Steps of expectation-maximisation."""
_PER_DEVIATION = 2.5
"""Points of the grid per standard deviation of an estimated rate, on the scale of arcsin sqrt p."""
_FEWEST, _MOST = 121, 601
_NEAR_END = np.logspace(-9, -4.3, 10)
"""Rates between 0 and the grid's first, and between its last and 1."""


def rate_grid(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rates for counts of at most n, 0 and 1 among them, and the weight of each under Jeffreys's prior."""
    size = int(np.clip(_PER_DEVIATION * np.pi * np.sqrt(n), _FEWEST, _MOST))
    inner = np.sin(np.linspace(0, np.pi / 2, size)) ** 2
    rates = np.unique(np.concatenate([inner, _NEAR_END, 1 - _NEAR_END]))
    angles = np.arcsin(np.sqrt(rates))
    edges = np.concatenate([angles[:1], (angles[1:] + angles[:-1]) / 2, angles[-1:]])
    weights = np.diff(edges)
    return rates, weights / weights.sum()


def floored_log(chance: np.ndarray) -> np.ndarray:
    """The logarithms of chances; one below 1e-300 counts as that."""
    return np.log(np.maximum(chance, 1e-300))


def likelihood(n: np.ndarray, c: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """The probability of each count at each rate, (counts, rates)."""
    # The logarithm of the least number is finite, so that none correct of none possible has chance one.
    right, wrong = (np.log(np.maximum(x, np.finfo(float).tiny)) for x in (rates, 1 - rates))
    log = c[:, None] * right + (n - c)[:, None] * wrong
    log += (gammaln(n + 1) - gammaln(c + 1) - gammaln(n - c + 1))[:, None]
    return np.exp(log, out=log)


def fit_weights(
    base: np.ndarray, prompts: np.ndarray, weights: np.ndarray, steps: int, run: np.ndarray | None = None
) -> np.ndarray:
    """The weights of the rates after so many steps of expectation-maximisation.

    `prompts` of them have each count of the base, of chances `base` (counts, grid) at each rate: (counts,).
    With the chances `run` (counts of the run, grid) it is (counts of the base, counts of the run).
    """
    run_chance, table = (np.ones((1, len(weights))), prompts[:, None]) if run is None else (run, prompts)
    for _ in range(steps):
        chance = (base * weights) @ run_chance.T
        # Counts that no rate of the grid explains say nothing of the weights.
        share = np.divide(table, chance, out=np.zeros_like(chance), where=chance > 1e-290)
        weights = weights * ((base.T @ share) * run_chance.T).sum(axis=1)
        weights = weights / weights.sum()
    return weights


@dataclass(frozen=True, eq=False, repr=False)
class RateSpread(Readable):
    """A distribution of pass rates over prompts: rates and weights (grid,)."""

    rates: np.ndarray
    weights: np.ndarray

    def solved_in(self, n: np.ndarray, c: np.ndarray, k: np.ndarray) -> np.ndarray:
        """The chance that k further answers to a prompt hold a correct one, given c of n; (prompts,)."""
        key, place = np.unique(np.stack([n, c, k]), axis=1, return_inverse=True)
        posterior = normalised(likelihood(key[0], key[1], self.rates) * self.weights)
        missed = np.exp(xlog1py(key[2][:, None].astype(float), -self.rates))
        return ((posterior * (1 - missed)).sum(axis=1))[place]


def rate_spread(n: np.ndarray, c: np.ndarray, most: int = 0) -> RateSpread:
    """The distribution of pass rates of prompts answered c times of n correctly; both (prompts,).

    The grid is fine enough for `most` answers where that is more than n.
    """
    rates, start = rate_grid(max(most, int(n.max())))
    key, counts = np.unique(np.stack([n, c]), axis=1, return_counts=True)
    return RateSpread(rates, fit_weights(likelihood(key[0], key[1], rates), counts, start, _STEPS))
