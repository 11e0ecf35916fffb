"""Pass@k of two checkpoints on the same prompts: bands at all k at once, what a change is made of, power.

The confidence set of the first loss is that of arXiv 2609.22547, from another band: at 30 prompts the
multiplier bootstrap of that paper often misses the truth, where one prompt carries the spread; this one does
not (`benchmarks/coverage.py`). A prompt enters only through its counts, so whatever is linear in the curves
is computed once for each pair of counts that occurs; for many prompts the law of the draws is used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy import optimize, sparse, stats

from ..intervals import LEVEL, Estimate, bounded_band, bounded_mean
from ..numeric.arrays import whole
from ..support.errors import argument_error
from ..support.record import readable
from .pairs import Pairs
from .rates import RateSpread, likelihood, rate_spread

_BATCH = 128
"""Draws of the prompts' weights at a time."""
_KEPT = 2**24
"""The most entries of a table of curves that is kept and not formed again."""
_BLOCK = 2**22
"""The most entries formed at a time."""
_WEIGHED, _FEW = 10_000, 2000
"""Of more prompts than these the band's law is drawn as a whole, if there are few enough k and counts."""
_EVERY = 2048
"""Up to this k every one is told by default, beyond it powers of two."""
_FLAT = 1e-12
"""A standard error below this is none: all prompts agree."""
_SMALLEST = 1e-6
"""The least difference that prompts are counted for."""
CHANCE = 0.8
"""The power that is aimed at."""
_Z_CHANCE, _Z_LEVEL = NormalDist().inv_cdf(CHANCE), NormalDist().inv_cdf((1 + LEVEL) / 2)


@dataclass(frozen=True)
class PassCurves:
    """Pass@k of base and run, their difference with a band simultaneous over k, and where its sign is known.

    `prompts` at each k are those with as many answers on both sides; of them `effective` carry the spread of
    the difference, (sum d^2)^2 / sum d^4 over the centred d: where it is small, one prompt more or less
    moves everything. `first_worse` is the confidence set [from, to] of the first k at which the run is worse,
    to being None where no upper bound is established; None as a whole where k skips whole numbers.
    `critical` is the band's half-width in standard errors for very many prompts.
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
    prompts: tuple[int, ...] = ()
    effective: tuple[float, ...] = ()


class PassTable:
    """Pass@k for each (n, c) that occurs, (U, K), and at which `place` (prompts,) of it each prompt's stands.

    Pass@k = 1 - prod_{j<k} (1 - c/(n-j)), one cumulative sum of logarithms for all k, and 0 for k beyond the
    prompt's `reach`, by default n. Source: chen2021codex.
    """

    def __init__(self, n: np.ndarray, c: np.ndarray, ks: np.ndarray, reach: np.ndarray | None = None) -> None:
        columns = np.stack([n, c, n if reach is None else reach])
        (self.n, self.c, self.reach), self.place = np.unique(columns, axis=1, return_inverse=True)
        self.ks, places = ks, np.arange(len(self.n))
        self._kept = self._formed(places) if len(self.n) * int(ks[-1]) <= _KEPT else None

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
        solved = -np.expm1(np.cumsum(log_failed, axis=1)[:, self.ks - 1])
        return np.where(self.ks <= self.reach[places, None], solved, 0.0)


def _tables(pairs: Pairs, ks: np.ndarray) -> tuple[PassTable, PassTable, PassTable]:
    """Pass@k of the base and of the run, and 1 where a prompt has k answers on both sides, else 0."""
    sides = ((pairs.base_n, pairs.base_c), (pairs.run_n, pairs.run_c), (pairs.reach, pairs.reach))
    base, run, has = (PassTable(n, c, ks, pairs.reach) for n, c in sides)
    return base, run, has


def gaps(pairs: Pairs, ks: Sequence[int]) -> np.ndarray:
    """The difference run - base of each prompt's Pass@k, (prompts, K)."""
    base, run, _ = _tables(pairs, np.asarray(ks))
    return run.rows(run.place) - base.rows(base.place)


def pass_curves(
    pairs: Pairs, ks: Sequence[int] | None = None, *, draws: int = 4000, level: float = LEVEL, seed: int = 0
) -> PassCurves:
    """Pass@k of both and their difference run - base with a simultaneous band, at k = 1, ..., usual n.

    Prompts count as independent draws, and nothing is asked of the law of their differences: the band is
    `bounded_band`, from weights of the prompts uniform on the simplex, the same for all k. The spread over
    training seeds is not in it. At a k that not every prompt has answers for, it is about those that have.
    By default k goes as far as nineteen of twenty prompts do. Raises ValueError for fewer than two prompts, k
    not increasing, or k above the answers of all prompts but one.
    """
    if len(pairs) < 2:
        raise argument_error("prompts", len(pairs), "at least two: intervals are over prompts")
    asked = _asked(pairs, ks)
    if draws < 2:
        raise argument_error("draws", draws, "at least two")
    tables = _tables(pairs, asked)
    before, after, counts = (t.times(np.bincount(t.place, minlength=len(t.n)).astype(float)) for t in tables)
    means = before / counts, after / counts
    mean = means[1] - means[0]
    error, effective = _spread(tables, mean, counts)
    most = max(len(tables[0].n), len(tables[1].n), len(asked))
    law = _gaussian if counts[-1] > _WEIGHED and most <= _FEW else _weighed
    core, unseen = law(tables, mean, counts, draws, np.random.default_rng(seed))
    low, high = bounded_band(core, unseen, level=level)
    away = np.abs(core - core.mean(axis=0)) / np.maximum(core.std(axis=0), _FLAT)
    critical = float(np.quantile(away.max(axis=1), level))
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
        prompts=tuple(map(int, counts)),
        effective=_floats(effective),
    )


def _floats(values: np.ndarray) -> tuple[float, ...]:
    return tuple(map(float, values))


def _asked(pairs: Pairs, ks: Sequence[int] | None) -> np.ndarray:
    most = int(np.sort(pairs.reach)[-2])
    if ks is None:
        return np.arange(1, pairs.usual + 1) if pairs.usual <= _EVERY else np.array(told_ks(pairs.usual))
    asked = whole("k", list(ks), at_least=1)
    if asked.ndim != 1 or asked.size == 0 or (np.diff(asked) <= 0).any() or asked[-1] > most:
        allowed = f"increasing whole numbers, at most {most}: as many answers as two prompts have"
        raise argument_error("k", ks, allowed)
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


def _spread(
    tables: tuple[PassTable, PassTable, PassTable], mean: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The standard error of the mean difference and how many prompts carry it, (K,)."""
    base, run, _ = tables
    pair, often = np.unique(base.place * len(run.n) + run.place, return_counts=True)
    first, second = np.divmod(pair, len(run.n))
    squares, fourths, size = np.zeros(len(mean)), np.zeros(len(mean)), max(1, _BLOCK // len(mean))
    for start in range(0, len(pair), size):
        some = slice(start, start + size)
        gap = run.rows(second[some]) - base.rows(first[some])
        gap -= np.where(base.ks <= run.reach[second[some], None], mean, 0.0)
        squares += often[some] @ np.square(gap, out=gap)
        fourths += often[some] @ np.square(gap, out=gap)
    error = np.sqrt(squares / (counts - 1) / counts)
    told = error > _FLAT
    return error, np.divide(squares**2, fourths, out=np.zeros(len(mean)), where=told)


def _weighed(
    tables: tuple[PassTable, PassTable, PassTable],
    _: np.ndarray,
    counts: np.ndarray,
    draws: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Of each draw of weights the mean difference and the weight of a prompt not seen, (draws, K) both."""
    m = len(tables[0].place)
    sums = [sparse.csr_array((np.ones(m), (t.place, np.arange(m))), (len(t.n), m)) for t in tables]
    core, unseen = np.empty((2, draws, len(counts)))
    for start in range(0, draws, _BATCH):
        e = rng.standard_exponential((min(_BATCH, draws - start), m + 1))
        # A draw at a time: the sparse product would copy all of them, transposed.
        before, after, total = (
            t.times(np.stack([s @ one for one in e[:, :m]])) for t, s in zip(tables, sums, strict=True)
        )
        total += e[:, m:]
        some = slice(start, start + len(e))
        core[some], unseen[some] = (after - before) / total, e[:, m:] / total
    return core, unseen


def _gaussian(
    tables: tuple[PassTable, PassTable, PassTable],
    mean: np.ndarray,
    counts: np.ndarray,
    draws: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """The same from the normal law over k that the weights of many prompts have.

    Its covariance is sum_i (d_i - mean)(d_i - mean)^T, formed from the two tables, N counting the prompts at
    each pair of their rows: B^T N_b B + R^T N_r R - B^T N R - R^T N^T B, both less their means.
    """
    m = len(tables[0].place)
    (before, first), (after, second) = (_centred(table, counts) for table in tables[:2])
    both = sparse.csr_array((np.ones(m), (tables[0].place, tables[1].place)), (len(before), len(after)))
    covariance = -before.T @ (both @ after)
    covariance += covariance.T + (before.T * first) @ before + (after.T * second) @ after
    values, vectors = np.linalg.eigh(covariance / np.outer(counts, counts))
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    unseen = rng.standard_exponential((draws, 1)) / (counts + 1)
    return mean + rng.standard_normal((draws, len(values))) @ factor.T, unseen


def _centred(table: PassTable, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A table's rows less their mean over the prompts that have k answers, and how many prompts each has."""
    rows, often = table.rows(np.arange(len(table.n))), np.bincount(table.place, minlength=len(table.n))
    return rows - np.where(table.ks <= table.reach[:, None], often @ rows / counts, 0.0), often


@dataclass(frozen=True)
class ChangeParts:
    """The change of Pass@k, and its two parts, which add up to it.

    `solved_set` is the part of prompts that only one of the two solves at all in its answers: newly solved
    less lost. `narrowing` is the part of prompts that both solve, some more rarely, others more often. Both
    are zero on average if nothing changed. The intervals are of this k alone (`bounded_mean`).
    """

    __repr__ = readable

    k: int
    change: Estimate
    solved_set: Estimate
    narrowing: Estimate


def change_parts(pairs: Pairs, ks: Sequence[int], rng: np.random.Generator) -> tuple[ChangeParts, ...]:
    """The parts at each k, of the prompts with as many answers; both sides at equal numbers of answers."""
    pairs = pairs.thinned(rng)
    changed = (pairs.base_c > 0) != (pairs.run_c > 0)
    found = []
    for k, gap in zip(ks, gaps(pairs, ks).T, strict=True):
        has = pairs.reach >= k
        only = np.where(changed, gap, 0.0)
        parts = (bounded_mean(values[has], rng) for values in (gap, only, gap - only))
        found.append(ChangeParts(int(k), *parts))
    return tuple(found)


def told_ks(most: int) -> tuple[int, ...]:
    """The k that tables show: powers of two, and the most."""
    return tuple(sorted({2**i for i in range(most.bit_length()) if 2**i <= most} | {most}))


@dataclass(frozen=True)
class SampleNeeded:
    """With n answers to each prompt on both sides: the prompts needed, and what the present ones would tell.

    `prompts` tell the difference of Pass@k with power 0.8 at level 0.05, if it is asked of this k alone;
    `prompts_in_band` do so in a band over all k that is as wide, in standard errors, as the present one.
    Their intervals are those of the spread of the differences, as the present prompts tell it. `detectable`
    is the least difference that as many prompts as there are now tell at this k alone.
    """

    __repr__ = readable

    k: int
    difference: float
    n: int
    prompts: Estimate
    prompts_in_band: Estimate
    detectable: float


def needed(pairs: Pairs, difference: float, k: int, critical: float = _Z_LEVEL) -> tuple[SampleNeeded, ...]:
    """What a difference of Pass@k takes at several numbers of answers, from this comparison's own spread.

    The variance of a prompt's estimated difference is that of the true differences over prompts, which more
    answers do not lessen, and that of the estimates, which is exact given the spread of the rates
    (`rate_spread`). m prompts tell it if the difference is z_.8 deviations of the mean and half an interval
    or more. Raises ValueError for a difference above 1 or below 1e-6, a single prompt, or k above the least
    n.
    """
    if not _SMALLEST <= difference <= 1:
        raise argument_error("difference", difference, f"from {_SMALLEST:g} to 1")
    if len(pairs) < 2:
        raise argument_error("prompts", len(pairs), "at least two")
    if not 1 <= k <= pairs.least:
        raise argument_error("k", k, f"at most {pairs.least}: the fewest answers")
    sides = [(n, c, rate_spread(n, c)) for n, c in ((pairs.base_n, pairs.base_c), (pairs.run_n, pairs.run_c))]
    by_chance = sum(_sampling(law, n, k) for n, _, law in sides)
    gap = gaps(pairs, [k])[:, 0]
    true = max(0.0, float(np.var(gap, ddof=1)) - by_chance)
    # The logarithm of a sample variance has, to first order, the variance (kurtosis - 1)/m.
    wide = float(np.exp(_Z_LEVEL * np.sqrt(max(0.0, stats.kurtosis(gap, fisher=False) - 1) / len(gap))))
    now = int(np.median(np.minimum(pairs.base_n, pairs.run_n)))
    found = []
    for n in sorted({max(k, round(now * factor)) for factor in (0.25, 0.5, 1, 2, 4)}):
        variance = true + sum(_sampling(law, np.array([n]), k) for _, _, law in sides)
        alone, band = (
            Estimate(*(float(_prompts(variance * by, difference, z)) for by in (1.0, 1 / wide, wide)))
            for z in (_Z_LEVEL, critical)
        )
        detectable = _detectable(variance, len(pairs), _Z_LEVEL)
        found.append(SampleNeeded(k, difference, n, alone, band, detectable))
    return tuple(found)


def _detectable(variance: float, prompts: float, z: float) -> float:
    """The difference that so many prompts tell: half an interval, and z_.8 deviations of the mean.

    Half an interval of `bounded_band` is, for many prompts, a quantile of a normal deviation plus the
    exponential weight of a prompt not seen, 1/prompts in the mean.
    """
    error = max(float(np.sqrt(variance / prompts)), _FLAT)
    unseen = 1 / (prompts * error)
    # Below a thousandth of a deviation only the mean of the weight counts, and the law's logarithms overflow.
    half = z + unseen if unseen < 1e-3 else float(stats.exponnorm.isf(NormalDist().cdf(-z), unseen))
    return (half + _Z_CHANCE) * error


def _prompts(variance: float, difference: float, z: float) -> int:
    def short(log_prompts: float) -> float:
        return _detectable(variance, float(np.exp(log_prompts)), z) - difference

    # A single prompt tells no difference; e^60 of them tell the least one that may be asked for.
    return int(np.ceil(np.exp(optimize.brentq(short, 0.0, 60.0))))


def _sampling(law: RateSpread, answers: np.ndarray, k: int) -> float:
    """The mean over prompts (of so many answers) of the variance of Pass@k estimated from these answers."""
    each, counts = np.unique(answers, return_counts=True)
    return float(np.array([_variance(law, int(n), k) for n in each]) @ counts) / len(answers)


def _variance(law: RateSpread, n: int, k: int) -> float:
    c = np.arange(n + 1)
    value = PassTable(np.full(n + 1, n), c, np.array([k])).rows(c)[:, 0]
    chance = likelihood(np.full(n + 1, n), c, law.rates)
    return float(((value**2 @ chance) - (value @ chance) ** 2) @ law.weights)
