"""Pass@k of two checkpoints on the same prompts: bands at all k at once, what a change is made of, power.

The bands and the confidence set are those of arXiv 2609.22547 and of its package `passk-inference`, up to ten
thousand prompts with the same draws. A prompt enters only through its counts, so whatever is linear in the
curves is computed once for each pair of counts that occurs; for more prompts the law of the draws is used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy import sparse

from ..intervals import LEVEL, Estimate, mean_of
from ..numeric.arrays import whole
from ..support.errors import argument_error
from ..support.record import readable
from .pairs import Pairs
from .rates import RateSpread, likelihood, rate_spread

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
CHANCE = 0.8
"""The power that is aimed at."""
_Z_CHANCE, _Z_LEVEL = NormalDist().inv_cdf(CHANCE), NormalDist().inv_cdf((1 + LEVEL) / 2)


@dataclass(frozen=True)
class PassCurves:
    """Pass@k of base and run, their difference with a band simultaneous over k, and where its sign is known.

    `first_worse` is the confidence set [from, to] of the first k at which the run is worse, to being None
    where no upper bound is established; None as a whole where k skips whole numbers.
    """

    __repr__ = readable

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


def _tables(pairs: Pairs, ks: np.ndarray) -> tuple[PassTable, PassTable]:
    return PassTable(pairs.base_n, pairs.base_c, ks), PassTable(pairs.run_n, pairs.run_c, ks)


def gaps(pairs: Pairs, ks: Sequence[int]) -> np.ndarray:
    """The difference run - base of each prompt's Pass@k, (prompts, K)."""
    base, run = _tables(pairs, np.asarray(ks))
    return run.rows(run.place) - base.rows(base.place)


def pass_curves(
    pairs: Pairs, ks: Sequence[int] | None = None, *, draws: int = 4000, level: float = LEVEL, seed: int = 0
) -> PassCurves:
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
    base, run = _tables(pairs, asked)
    means = [t.times(np.bincount(t.place, minlength=len(t.n)) / len(pairs)) for t in (base, run)]
    mean = means[1] - means[0]
    error = _standard_error(base, run, mean)
    most = max(len(base.n), len(run.n), len(asked))
    largest = _gaussian if len(pairs) > _MULTIPLIED and most <= _FEW else _multiplied
    deviations = largest(base, run, mean, np.maximum(error, _FLAT), draws, np.random.default_rng(seed))
    critical = float(np.quantile(deviations, level))
    flat = error < _FLAT
    low, high = np.where(flat, -1, mean - critical * error), np.where(flat, 1, mean + critical * error)
    return PassCurves(
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


@dataclass(frozen=True)
class ChangeParts:
    """The change of Pass@k, and its two parts, which add up to it.

    `solved_set` is the part of prompts that only one of the two solves at all in its answers: newly solved
    less lost. `narrowing` is the part of prompts that both solve, some more rarely, others more often. Both
    are zero on average if nothing changed.
    """

    __repr__ = readable

    k: int
    change: Estimate
    solved_set: Estimate
    narrowing: Estimate


def change_parts(pairs: Pairs, ks: Sequence[int], rng: np.random.Generator) -> tuple[ChangeParts, ...]:
    """The parts at each k, at most the least number of answers; both sides at equal numbers of answers."""
    pairs = pairs.thinned(rng)
    changed = (pairs.base_c > 0) != (pairs.run_c > 0)
    found = []
    for k, gap in zip(ks, gaps(pairs, ks).T, strict=True):
        only = np.where(changed, gap, 0.0)
        found.append(ChangeParts(int(k), mean_of(gap), mean_of(only), mean_of(gap - only)))
    return tuple(found)


def told_ks(most: int) -> tuple[int, ...]:
    """The k that tables show: powers of two, and the most."""
    return tuple(sorted({2**i for i in range(most.bit_length()) if 2**i <= most} | {most}))


@dataclass(frozen=True)
class SampleNeeded:
    """With n answers to each prompt on both sides: the prompts needed, and what the present ones would tell.

    `prompts` tell the difference of Pass@k with power 0.8 at level 0.05, if it is asked of this k alone;
    `prompts_in_band` do so in a band over all k that is as wide, in standard errors, as the present one.
    `detectable` is the least difference that as many prompts as there are now tell at this k alone.
    """

    __repr__ = readable

    k: int
    difference: float
    n: int
    prompts: int
    prompts_in_band: int
    detectable: float


def needed(pairs: Pairs, difference: float, k: int, critical: float = _Z_LEVEL) -> tuple[SampleNeeded, ...]:
    """What a difference of Pass@k takes at several numbers of answers, from this comparison's own spread.

    The variance of a prompt's estimated difference is that of the true differences over prompts, which more
    answers do not lessen, and that of the estimates, which is exact given the spread of the rates
    (`rate_spread`): prompts needed = ((z + z_.8)/difference)^2 variance + z^2/2, z = z_.975 or the band's
    `critical` value. Raises ValueError for a difference outside (0, 1], a single prompt, or k above the least
    n.
    """
    if not 0 < difference <= 1:
        raise argument_error("difference", difference, "above 0, at most 1")
    if len(pairs) < 2:
        raise argument_error("prompts", len(pairs), "at least two")
    if not 1 <= k <= pairs.least:
        raise argument_error("k", k, f"at most {pairs.least}: the fewest answers")
    sides = [(n, c, rate_spread(n, c)) for n, c in ((pairs.base_n, pairs.base_c), (pairs.run_n, pairs.run_c))]
    by_chance = sum(_sampling(law, n, k) for n, _, law in sides)
    true = max(0.0, float(np.var(gaps(pairs, [k]), ddof=1)) - by_chance)
    now = int(np.median(np.minimum(pairs.base_n, pairs.run_n)))
    found = []
    for n in sorted({max(k, round(now * factor)) for factor in (0.25, 0.5, 1, 2, 4)}):
        variance = true + sum(_sampling(law, np.array([n]), k) for _, _, law in sides)
        alone, band = (_prompts(variance, difference, z) for z in (_Z_LEVEL, critical))
        detectable = float((_Z_LEVEL + _Z_CHANCE) * np.sqrt(variance / len(pairs)))
        found.append(SampleNeeded(k, difference, n, alone, band, detectable))
    return tuple(found)


def _prompts(variance: float, difference: float, z: float) -> int:
    # The last term makes up for the Student quantile of few prompts.
    return int(np.ceil(variance * ((z + _Z_CHANCE) / difference) ** 2 + z**2 / 2))


def _sampling(law: RateSpread, answers: np.ndarray, k: int) -> float:
    """The mean over prompts (of so many answers) of the variance of Pass@k estimated from these answers."""
    each, counts = np.unique(answers, return_counts=True)
    return float(np.array([_variance(law, int(n), k) for n in each]) @ counts) / len(answers)


def _variance(law: RateSpread, n: int, k: int) -> float:
    c = np.arange(n + 1)
    value = PassTable(np.full(n + 1, n), c, np.array([k])).rows(c)[:, 0]
    chance = likelihood(np.full(n + 1, n), c, law.rates)
    return float(((value**2 @ chance) - (value @ chance) ** 2) @ law.weights)
