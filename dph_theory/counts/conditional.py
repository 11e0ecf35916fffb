"""A prompt's counts given their total: Fisher's noncentral hypergeometric law, free of the base's rate."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from .pairs import Pairs


@dataclass(frozen=True, eq=False)
class Margin:
    """Prompts of the same base_n, run_n and total of correct answers: the run's may be first, first + 1, ...

    At log odds theta above the base's, P(x) ~ C(run_n, x) C(base_n, total - x) e^(x theta).
    """

    first: int
    log_ways: np.ndarray

    @property
    def support(self) -> np.ndarray:
        """The possible counts of the run."""
        return self.first + np.arange(len(self.log_ways))

    def chances(self, theta: np.ndarray) -> np.ndarray:
        """P at each theta, (theta, support)."""
        logs = self._logs(theta)
        chance = np.exp(logs, out=logs)
        chance /= chance.sum(axis=1, keepdims=True)
        return chance

    def chances_of(self, x: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """P of these counts alone, (x, theta)."""
        logs = self._logs(theta)
        of_x = logs[:, x - self.first].T.copy()
        return np.exp(of_x) / np.exp(logs, out=logs).sum(axis=1)

    def _logs(self, theta: np.ndarray) -> np.ndarray:
        logs = self.log_ways + theta[:, None] * np.arange(len(self.log_ways))
        logs -= logs.max(axis=1, keepdims=True)
        return logs


def margins_of(pairs: Pairs) -> Iterator[tuple[Margin, np.ndarray]]:
    """Each margin that occurs, with the places of its prompts."""
    total = pairs.base_c + pairs.run_c
    keys, place = np.unique(np.stack([pairs.base_n, pairs.run_n, total]), axis=1, return_inverse=True)
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(np.bincount(place, minlength=keys.shape[1]))
    for (n0, n1, both), members in zip(keys.T, np.split(order, ends[:-1]), strict=True):
        x = np.arange(max(0, both - n0), min(n1, both) + 1)
        ways = gammaln(x + 1) + gammaln(n1 - x + 1) + gammaln(both - x + 1) + gammaln(n0 - both + x + 1)
        yield Margin(int(x[0]), -ways), members
