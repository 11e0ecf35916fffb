"""The base rates that a prompt's counts leave possible: a band of a grid, out of which nothing counts."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from .mixing import log_chance, log_rates, log_ways
from .pairs import Pairs

_STRIDE = 8
"""Of so many points of the grid one is looked at to find the band."""
_NEXT_TO_NONE = 100.0
"""Nats below a prompt's likeliest rate at which a rate counts no more."""


@dataclass(frozen=True, eq=False)
class Near:
    """For each prompt a band of the grid of base rates, one prompt after another (entries,).

    `base` is the log probability of the base's counts there, with the number of ways of the run's; `right`
    and `wrong` are the run's answers of either kind.
    """

    shape: tuple[int, int]
    rows: np.ndarray
    ends: np.ndarray
    columns: np.ndarray
    base: np.ndarray
    right: np.ndarray
    wrong: np.ndarray

    @classmethod
    def of(cls, pairs: Pairs, rates: np.ndarray, after: np.ndarray) -> "Near":
        """The bands where base rates are possible if the run's rates are `after`, or not far from it."""
        coarse = np.append(np.arange(0, len(rates) - 1, _STRIDE), len(rates) - 1)
        log = log_chance(pairs.base_n, pairs.base_c, rates[coarse])
        log += log_chance(pairs.run_n, pairs.run_c, after[coarse])
        possible = log > log.max(axis=1, keepdims=True) - _NEXT_TO_NONE
        # From the last point that is not, to the first that is not again.
        first = coarse[np.maximum(possible.argmax(axis=1) - 1, 0)]
        last = coarse[np.minimum(len(coarse) - possible[:, ::-1].argmax(axis=1), len(coarse) - 1)]
        widths = last - first + 1
        ends = np.concatenate([[0], np.cumsum(widths)])
        rows = np.repeat(np.arange(len(widths)), widths)
        columns = np.arange(ends[-1]) - (ends[:-1] - first)[rows]
        n, c, right, wrong = pairs.base_n, pairs.base_c, *log_rates(rates)
        ways = log_ways(n, c) + log_ways(pairs.run_n, pairs.run_c)
        base = ways[rows] + c[rows] * right[columns] + (n - c)[rows] * wrong[columns]
        run_right, run_wrong = (x.astype(float)[rows] for x in (pairs.run_c, pairs.run_n - pairs.run_c))
        return cls((len(pairs), len(rates)), rows, ends, columns, base, run_right, run_wrong)

    def given(self, after: np.ndarray) -> sparse.csr_array:
        """The probability of both counts at each base rate, (prompts, grid), for the run's rates `after`."""
        right, wrong = log_rates(after)
        log = self.right * right[self.columns]
        log += self.wrong * wrong[self.columns]
        log += self.base
        return sparse.csr_array((np.exp(log, out=log), self.columns, self.ends), shape=self.shape)

    def with_more(self, n: np.ndarray, c: np.ndarray) -> "Near":
        """The same bands, for further counts of the run as well, (prompts,)."""
        base = self.base + log_ways(n, c)[self.rows]
        return replace(
            self, base=base, right=self.right + c[self.rows], wrong=self.wrong + (n - c)[self.rows]
        )
