"""Pass@k of two checkpoints on the same prompts, with bands that hold at all k at once.

The bands and the confidence set are those of arXiv 2609.22547 and of its package `passk-inference`, up to ten
thousand prompts with the same draws. A prompt enters only through its counts, so whatever is linear in the
curves is computed once for each pair of counts that occurs; for more prompts the law of the draws is used.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..numeric.arrays import whole
from ..support.errors import argument_error
from .estimate import LEVEL
from .pairs import Pairs

_BATCH = 128
"""Multiplier draws at a time."""
_KEPT = 2**24
"""The most entries of a table of curves that is kept and not formed again."""
_BLOCK = 2**22
"""The most entries formed at a time."""
_MULTIPLIED, _FEW = 10_000, 2000
"""Of more prompts than these the band's law is drawn as a whole, if there are few enough k and counts."""
_FLAT = 1e-12
"""A standard error below this is none: all prompts agree, which says nothing of others."""


@dataclass(frozen=True)
class Curves:
    """Pass@k of base and run, their difference with a band simultaneous over k, and where its sign is known.

    `first_worse` is the confidence set [from, to] of the first k at which the run is worse, to being None
    where no upper bound is established; None as a whole where k skips whole numbers.
    """

    k: tuple[int, ...]
    base: tuple[float, ...]
    run: tuple[float, ...]
    difference: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    standard_error: tuple[float, ...]
    critical: float
    better: tuple[int, ...]
    worse: tuple[int, ...]
    first_worse: tuple[int, int | None] | None


class PassTable:
    """Pass@k for each (n, c) that occurs, (U, K), and at which `place` (prompts,) of it each prompt's stands.

    Pass@k = 1 - prod_{j<k} (1 - c/(n-j)), one cumulative sum of logarithms for all k. Source: chen2021codex.
    """

    def __init__(self, n: np.ndarray, c: np.ndarray, ks: np.ndarray) -> None:
        key, self.place = np.unique(n * (int(n.max()) + 1) + c, return_inverse=True)
        self.n, self.c = np.divmod(key, int(n.max()) + 1)
        self.ks, places = ks, np.arange(len(key))
        self._kept = self._formed(places) if len(key) * int(ks[-1]) <= _KEPT else None

    def rows(self, places: np.ndarray) -> np.ndarray:
        """The curves at these places, (places, K)."""
        return self._formed(places) if self._kept is None else self._kept[places]

    def times(self, weights: np.ndarray) -> np.ndarray:
        """Weights (..., U) times the table: (..., K)."""
        if self._kept is not None:
            return weights @ self._kept
        total, size = np.zeros((*weights.shape[:-1], len(self.ks))), max(1, _BLOCK // int(self.ks[-1]))
        for start in range(0, len(self.n), size):
            places = np.arange(start, min(start + size, len(self.n)))
            total += weights[..., places] @ self._formed(places)
        return total

    def _formed(self, places: np.ndarray) -> np.ndarray:
        n, c = self.n[places, None], self.c[places, None]
        left = n - np.arange(self.ks[-1])
        with np.errstate(divide="ignore"):
            # From n - j = c on one of the answers drawn is correct.
            log_failed = np.log1p(-c / np.maximum(left, c).clip(1))
        return -np.expm1(np.cumsum(log_failed, axis=1)[:, self.ks - 1])


def curves(
    pairs: Pairs, ks: Sequence[int] | None = None, *, draws: int = 4000, level: float = LEVEL, seed: int = 0
) -> Curves:
    """Pass@k of both and their difference run - base with a simultaneous band, at k = 1, ..., least n.

    The band is mean +- q se, q the quantile of max_k |sum_i e_i (d_i - mean)|/(m se), e_i standard normal: a
    Gaussian multiplier bootstrap over prompts, which are taken as independent. Asymptotic in their number m;
    the spread over training seeds is not in it. Where all prompts agree the band is [-1, 1].
    Raises ValueError for fewer than two prompts, k not increasing, or k above the least n.
    """
    asked = _asked(pairs, ks)
    if len(pairs) < 2:
        raise argument_error("prompts", len(pairs), "at least two: intervals are over prompts")
    if draws < 2:
        raise argument_error("draws", draws, "at least two")
    base = PassTable(pairs.base_n, pairs.base_c, asked)
    run = PassTable(pairs.run_n, pairs.run_c, asked)
    means = [t.times(np.bincount(t.place, minlength=len(t.n)) / len(pairs)) for t in (base, run)]
    mean = means[1] - means[0]
    error = _standard_error(base, run, mean)
    most = max(len(base.n), len(run.n), len(asked))
    largest = _gaussian if len(pairs) > _MULTIPLIED and most <= _FEW else _multiplied
    deviations = largest(base, run, mean, np.maximum(error, _FLAT), draws, np.random.default_rng(seed))
    critical = float(np.quantile(deviations, level))
    flat = error < _FLAT
    low, high = np.where(flat, -1, mean - critical * error), np.where(flat, 1, mean + critical * error)
    return Curves(
        k=tuple(map(int, asked)),
        base=_floats(means[0]),
        run=_floats(means[1]),
        difference=_floats(mean),
        low=_floats(low),
        high=_floats(high),
        standard_error=_floats(error),
        critical=critical,
        better=tuple(map(int, asked[low > 0])),
        worse=tuple(map(int, asked[high < 0])),
        first_worse=first_worse(asked, low, high),
    )


def _floats(values: np.ndarray) -> tuple[float, ...]:
    return tuple(map(float, values))


def _asked(pairs: Pairs, ks: Sequence[int] | None) -> np.ndarray:
    asked = np.arange(1, pairs.least + 1) if ks is None else whole("k", list(ks), at_least=1)
    if asked.ndim != 1 or asked.size == 0 or (np.diff(asked) <= 0).any() or asked[-1] > pairs.least:
        raise argument_error("k", ks, f"increasing whole numbers, at most {pairs.least}: the fewest answers")
    return asked


def first_worse(ks: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[int, int | None] | None:
    """The confidence set of the first k with a loss, from a simultaneous band on k = 1, 2, ...

    It begins after the k up to which gains are established, and ends at the first established loss.
    """
    if not np.array_equal(ks, np.arange(1, len(ks) + 1)):
        return None
    unsure, lost = np.flatnonzero(low <= 0), np.flatnonzero(high < 0)
    start = int(unsure[0]) if unsure.size else len(ks)
    return start + 1, int(ks[lost[0]]) if lost.size else None


def _standard_error(base: PassTable, run: PassTable, mean: np.ndarray) -> np.ndarray:
    """The standard error of the mean difference, each pair of places formed once."""
    pair, counts = np.unique(base.place * len(run.n) + run.place, return_counts=True)
    first, second = np.divmod(pair, len(run.n))
    total, size = np.zeros(len(mean)), max(1, _BLOCK // len(mean))
    for start in range(0, len(pair), size):
        some = slice(start, start + size)
        gap = run.rows(second[some]) - base.rows(first[some])
        gap -= mean
        total += counts[some] @ np.square(gap, out=gap)
    m = len(base.place)
    return np.sqrt(total / (m - 1) / m)


def _multiplied(
    base: PassTable, run: PassTable, mean: np.ndarray, error: np.ndarray, draws: int, rng: np.random.Generator
) -> np.ndarray:
    """The largest studentised deviation over k in each draw of the prompts' normal multipliers, (draws,)."""
    m = len(base.place)
    sums = [
        sparse.csr_array((np.ones(m), (table.place, np.arange(m))), (len(table.n), m))
        for table in (base, run)
    ]
    largest = np.empty(draws)
    for start in range(0, draws, _BATCH):
        e = rng.standard_normal((min(_BATCH, draws - start), m))
        # A draw at a time: the sparse product would copy all of them, transposed.
        moved = [t.times(np.stack([s @ one for one in e])) for t, s in zip((base, run), sums, strict=True)]
        away = moved[1] - moved[0] - e.sum(axis=1)[:, None] * mean
        largest[start : start + len(e)] = np.max(np.abs(away) / (m * error), axis=1)
    return largest


def _gaussian(
    base: PassTable, run: PassTable, _: np.ndarray, error: np.ndarray, draws: int, rng: np.random.Generator
) -> np.ndarray:
    """The same, (draws,), from the normal law over k that the multipliers have.

    Its covariance is sum_i (d_i - mean)(d_i - mean)^T, formed from the two tables, N counting the prompts at
    each pair of their rows: B^T N_b B + R^T N_r R - B^T N R - R^T N^T B, both less their means.
    """
    told, m = error > _FLAT, len(base.place)
    sides = [table.rows(np.arange(len(table.n)))[:, told] for table in (base, run)]
    counts = [np.bincount(table.place, minlength=len(table.n)) for table in (base, run)]
    before, after = (side - n @ side / m for side, n in zip(sides, counts, strict=True))
    both = sparse.csr_array((np.ones(m), (base.place, run.place)), (len(before), len(after)))
    covariance = -before.T @ (both @ after)
    covariance += covariance.T + (before.T * counts[0]) @ before + (after.T * counts[1]) @ after
    values, vectors = np.linalg.eigh(covariance / np.outer(error[told], error[told]) / m**2)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.abs(rng.standard_normal((draws, len(values))) @ factor.T).max(axis=1, initial=0.0)
