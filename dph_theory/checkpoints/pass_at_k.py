"""Pass@k of two checkpoints on the same prompts: bands at all k at once, what a change is made of, power.

The confidence set of the first loss is that of arXiv 2609.22547, from another band: at 30 prompts the
multiplier bootstrap of that paper often misses the truth, where one prompt carries the spread; this one does
not, in simulated counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ..coverage import pass_at_k
from ..intervals import LEVEL, Estimate, bounded_mean, bounded_means
from ..numeric.arrays import integers
from ..support.errors import argument_error
from ..support.record import Readable
from .counts import PairedCounts
from .rates import RateSpread, likelihood, rate_spread

_EVERY = 256
"""Up to this k every one is given by default, beyond it powers of two."""
_FLAT = 1e-12
"""A standard error below this is none: all prompts agree."""
_SMALLEST = 1e-6
"""The least difference that prompts are counted for."""
CHANCE = 0.8
"""The power that is aimed at."""
_Z_CHANCE, _Z_LEVEL = NormalDist().inv_cdf(CHANCE), NormalDist().inv_cdf((1 + LEVEL) / 2)


@dataclass(frozen=True, repr=False)
class PassCurves(Readable):
    """Pass@k of base and run, their difference with a band simultaneous over k, and where its sign is known.

    All are of the `prompts` that have as many answers on both sides as the largest k. Of them `effective`
    carry the spread of the difference at each k, (sum d^2)^2 / sum d^4 over the centred d: where it is small,
    one prompt more or less moves everything; 0 where no prompt differs from another. `first_worse` is the
    confidence set [from, to] of the first k at which the run is worse, to being None where no upper bound is
    established; None as a whole where k skips whole numbers.
    """

    k: tuple[int, ...]
    base: tuple[float, ...]
    run: tuple[float, ...]
    difference: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    better: tuple[int, ...]
    worse: tuple[int, ...]
    first_worse: tuple[int, int | None] | None
    prompts: int
    effective: tuple[float, ...]


def curves(n: np.ndarray, c: np.ndarray, ks: Sequence[int]) -> np.ndarray:
    """Pass@k of each prompt, (prompts, K), at k up to n; prompts of equal counts are computed once."""
    key, place = np.unique(np.stack([n, c]), axis=1, return_inverse=True)
    values: np.ndarray = pass_at_k(key[0][:, None], key[1][:, None], np.asarray(ks))
    return values[place]


def gaps(pairs: PairedCounts, ks: Sequence[int]) -> np.ndarray:
    """The difference run - base of each prompt's Pass@k, (prompts, K)."""
    return curves(pairs.run_n, pairs.run_c, ks) - curves(pairs.base_n, pairs.base_c, ks)


def pass_curves(
    pairs: PairedCounts, ks: Sequence[int] | None = None, *,
    draws: int = 4000, level: float = LEVEL, seed: int = 0,
) -> PassCurves:  # fmt: skip
    """Pass@k of both and their difference run - base with a simultaneous band, at k = 1, ..., usual n.

    Prompts count as independent draws, and nothing is asked of the distribution of their differences: the
    band is that of `bounded_means`. The spread over training seeds is not in it. By default k goes as far as
    nineteen of twenty prompts do; prompts with fewer answers than the largest k are left out. Raises
    ValueError for fewer than two prompts, k not increasing, or k above the answers of all prompts but one.
    """
    if len(pairs) < 2:
        raise argument_error("prompts", len(pairs), "at least two: intervals are over prompts")
    k = _requested_ks(pairs, ks)
    if draws < 2:
        raise argument_error("draws", draws, "at least two")
    pairs = pairs.chosen(pairs.shared_answers >= k[-1])
    gap = gaps(pairs, k.tolist())
    low, high = bounded_means(gap, np.random.default_rng(seed), draws=draws, level=level)
    base, mean = curves(pairs.base_n, pairs.base_c, k.tolist()).mean(axis=0), gap.mean(axis=0)
    gap -= mean
    squares, fourths = (gap**2).sum(axis=0), (gap**4).sum(axis=0)
    varies = squares > _FLAT**2
    effective = np.divide(squares**2, fourths, out=np.zeros(len(k)), where=varies)
    return PassCurves(
        k=tuple(map(int, k)),
        base=_floats(base),
        run=_floats(base + mean),
        difference=_floats(mean),
        low=_floats(low),
        high=_floats(high),
        better=tuple(map(int, k[low > 0])),
        worse=tuple(map(int, k[high < 0])),
        first_worse=first_worse(k, low, high),
        prompts=len(pairs),
        effective=_floats(effective),
    )


def _floats(values: np.ndarray) -> tuple[float, ...]:
    return tuple(map(float, values))


def _requested_ks(pairs: PairedCounts, ks: Sequence[int] | None) -> np.ndarray:
    if ks is None:
        most = pairs.typical_answers
        return np.arange(1, most + 1) if most <= _EVERY else np.array(shown_ks(most))
    most, requested = int(np.sort(pairs.shared_answers)[-2]), integers("k", list(ks), at_least=1)
    if requested.ndim != 1 or requested.size == 0 or (np.diff(requested) <= 0).any() or requested[-1] > most:
        allowed = f"increasing whole numbers, at most {most}: as many answers as two prompts have"
        raise argument_error("k", ks, allowed)
    return requested


def first_worse(ks: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[int, int | None] | None:
    """The confidence set of the first k with a loss, from a simultaneous band on k = 1, 2, ...

    It begins after the k up to which gains are established, and goes to the first established loss.
    """
    if not np.array_equal(ks, np.arange(1, len(ks) + 1)):
        return None
    unsure, lost = np.flatnonzero(low <= 0), np.flatnonzero(high < 0)
    start = int(unsure[0]) if unsure.size else len(ks)
    return start + 1, int(ks[lost[0]]) if lost.size else None


@dataclass(frozen=True, repr=False)
class ChangeParts(Readable):
    """The change of Pass@k, and its two parts, which add up to it.

    `solved_set` is the part of prompts that only one of the two solves at all in equally many answers: newly
    solved less lost. `narrowing` is that of prompts that both solve, some more rarely, others more often.
    Both are zero on average if nothing changed. The intervals are of this k alone (`bounded_mean`).
    """

    k: int
    change: Estimate
    solved_set: Estimate
    narrowing: Estimate


def change_parts(pairs: PairedCounts, ks: Sequence[int], rng: np.random.Generator) -> tuple[ChangeParts, ...]:
    """The parts at each k, of the prompts that have all of them."""
    pairs = pairs.chosen(pairs.shared_answers >= max(ks))
    sides = ((pairs.base_n, pairs.base_c), (pairs.run_n, pairs.run_c))
    base, run = (curves(n, c, ks).T for n, c in sides)
    # As many answers of either side hold no correct one with these chances, 0 or 1 for the fewer; Pass@k of
    # drawn ones is on average that of all.
    no_base, no_run = (1 - pass_at_k(n, c, pairs.shared_answers) for n, c in sides)
    parts = []
    for k, before, after in zip(ks, base, run, strict=True):
        gap, only = after - before, after * no_base - before * no_run
        parts.append(ChangeParts(int(k), *(bounded_mean(values, rng) for values in (gap, only, gap - only))))
    return tuple(parts)


def shown_ks(most: int) -> tuple[int, ...]:
    """The k that tables show: powers of two, and the most."""
    return tuple(sorted({2**i for i in range(most.bit_length()) if 2**i <= most} | {most}))


@dataclass(frozen=True, repr=False)
class SampleNeeded(Readable):
    """With n answers to each prompt on both sides: the prompts needed, and what the present ones would show.

    `prompts` establish the difference of Pass@k with power 0.8 at level 0.05, asked of this k alone;
    the interval is that of the spread of the differences among the present prompts. `detectable` is the least
    difference that as many prompts as there are now establish.
    """

    k: int
    difference: float
    n: int
    prompts: Estimate
    detectable: float


def samples_needed(pairs: PairedCounts, difference: float, k: int) -> tuple[SampleNeeded, ...]:
    """What a difference of Pass@k takes at several numbers of answers, from this comparison's own spread.

    The variance of a prompt's estimated difference is that of the true differences over prompts, which more
    answers do not lessen, and that of the estimates, which is exact given the spread of the rates
    (`rate_spread`). m prompts establish it if the difference is z_.8 standard errors of the mean and half an
    interval or more. Raises ValueError for a difference above 1 or below 1e-6, a single prompt, or k above
    the least n.
    """
    if not _SMALLEST <= difference <= 1:
        raise argument_error("difference", difference, f"from {_SMALLEST:g} to 1")
    if len(pairs) < 2:
        raise argument_error("prompts", len(pairs), "at least two")
    if not 1 <= k <= pairs.fewest_answers:
        raise argument_error("k", k, f"at most {pairs.fewest_answers}: the fewest answers")
    sides = [(n, rate_spread(n, c)) for n, c in ((pairs.base_n, pairs.base_c), (pairs.run_n, pairs.run_c))]
    gap = gaps(pairs, [k])[:, 0]
    true = max(0.0, float(np.var(gap, ddof=1)) - sum(_sampling(spread, n, k) for n, spread in sides))
    from scipy import stats

    # The logarithm of a sample variance has, to first order, the variance (kurtosis - 1)/m.
    wide = float(np.exp(_Z_LEVEL * np.sqrt(max(0.0, stats.kurtosis(gap, fisher=False) - 1) / len(gap))))
    now, lines = int(np.median(pairs.shared_answers)), []
    for n in sorted({max(k, round(now * factor)) for factor in (0.25, 0.5, 1, 2, 4)}):
        variance = true + sum(_sampling(spread, np.array([n]), k) for _, spread in sides)
        prompts = Estimate(*(float(_prompts(variance * by, difference)) for by in (1.0, 1 / wide, wide)))
        lines.append(SampleNeeded(k, difference, n, prompts, _detectable(variance, len(pairs))))
    return tuple(lines)


def _detectable(variance: float, prompts: float) -> float:
    """The difference that so many prompts tell: half an interval, and z_.8 deviations of the mean.

    Half an interval of `bounded_means` is, for many prompts, a quantile of a normal deviation plus the
    exponential weight of a prompt not seen, 1/prompts in the mean.
    """
    from scipy import stats

    error = max(float(np.sqrt(variance / prompts)), _FLAT)
    unseen = 1 / (prompts * error)
    # Below a thousandth of a deviation only the mean of the weight counts, and the law's logarithms overflow.
    tail = NormalDist().cdf(-_Z_LEVEL)
    half = _Z_LEVEL + unseen if unseen < 1e-3 else float(stats.exponnorm.isf(tail, unseen))
    return (half + _Z_CHANCE) * error


def _prompts(variance: float, difference: float) -> int:
    from scipy import optimize

    def excess(log_prompts: float) -> float:
        return _detectable(variance, float(np.exp(log_prompts))) - difference

    # A single prompt tells no difference; e^60 of them tell the least one that may be asked for.
    return int(np.ceil(np.exp(optimize.brentq(excess, 0.0, 60.0))))


def _sampling(spread: RateSpread, answers: np.ndarray, k: int) -> float:
    """The mean over prompts (of so many answers) of the variance of Pass@k estimated from these answers."""
    sizes, counts = np.unique(answers, return_counts=True)
    return float(np.array([_variance(spread, int(n), k) for n in sizes]) @ counts) / len(answers)


def _variance(spread: RateSpread, n: int, k: int) -> float:
    c = np.arange(n + 1)
    value, chance = curves(np.full(n + 1, n), c, [k])[:, 0], likelihood(np.full(n + 1, n), c, spread.rates)
    return float(((value**2 @ chance) - (value @ chance) ** 2) @ spread.weights)
