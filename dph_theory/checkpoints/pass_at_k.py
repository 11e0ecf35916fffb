"""Pass@k of two checkpoints on the same prompts: bands at all k at once, and the parts of a change.

The confidence set of the first loss is that of arXiv 2609.22547, from another band: in simulated counts of 30
prompts that paper's multiplier bootstrap often misses the truth, and this band does not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..coverage import pass_at_k
from ..intervals import LEVEL, Estimate, bounded_mean, bounded_means
from ..numeric.arrays import integers
from ..support.errors import argument_error
from ..support.record import Readable
from .counts import PairedCounts

_EVERY = 256
"""Up to this k every one is given by default, beyond it powers of two."""
_FLAT = 1e-12
"""A standard error below this is none: all prompts agree."""


@dataclass(frozen=True, repr=False)
class PassCurves(Readable):
    """Pass@k of base and run on the prompts that have as many answers on both sides as the largest k.

    Attributes:
        k, base, run, difference: Values of k, Pass@k of both sides, and run - base.
        low, high: Band of the difference, simultaneous over k.
        better, worse: The k at which the sign of the difference is established.
        first_worse: Confidence set [from, to] of the first k at which the run is worse; `to` is None without
            an upper bound, the set None if k skips whole numbers.
        prompts: Number of prompts.
        effective: Number of prompts that carry the spread of the difference at each k, (sum d^2)^2 / sum d^4
            over the centred d; 0 if no prompt differs from another.
        possible_answers: Size of the answer space, if it was given.
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
    possible_answers: int | None = None


def curves(n: np.ndarray, c: np.ndarray, ks: Sequence[int]) -> np.ndarray:
    """Unbiased Pass@k of each prompt, (prompts, len(ks)), from c correct of n answers, both (prompts,)."""
    key, place = np.unique(np.stack([n, c]), axis=1, return_inverse=True)
    values: np.ndarray = pass_at_k(key[0][:, None], key[1][:, None], np.asarray(ks))
    return values[place]


def guess_at(k: int, possible_answers: int) -> float:
    """Pass@k of uniform guesses at m possible answers, one of which is correct: 1 - (1 - 1/m)^k."""
    return 1 - (1 - 1 / possible_answers) ** k


def gaps(pairs: PairedCounts, ks: Sequence[int]) -> np.ndarray:
    """Difference run - base of each prompt's unbiased Pass@k, shape (prompts, len(ks))."""
    return curves(pairs.run_n, pairs.run_c, ks) - curves(pairs.base_n, pairs.base_c, ks)


def pass_curves(
    pairs: PairedCounts, ks: Sequence[int] | None = None, *,
    draws: int = 4000, level: float = LEVEL, seed: int = 0,
) -> PassCurves:  # fmt: skip
    """Pass@k of both sides and their difference run - base with the band of `bounded_means`.

    Prompts count as independent draws; the spread over training seeds is not in the band.

    Args:
        pairs: Counts of both sides; prompts with fewer answers than the largest k are left out.
        ks: Increasing values of k; by default 1, 2, ... as far as nineteen of twenty prompts go.
        draws: Random weightings from which the band is read.
        level: Confidence of the band over all k.
        seed: Seed of the draws.

    Raises:
        ValueError: If there are fewer than two prompts, or k does not increase or exceeds the answers of all
            prompts but one.
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
    """Confidence set of the first k with a loss, from a simultaneous band on k = 1, 2, ...

    The set begins after the k up to which gains are established, and ends with the first established loss.
    """
    if not np.array_equal(ks, np.arange(1, len(ks) + 1)):
        return None
    unsure, lost = np.flatnonzero(low <= 0), np.flatnonzero(high < 0)
    start = int(unsure[0]) if unsure.size else len(ks)
    return start + 1, int(ks[lost[0]]) if lost.size else None


@dataclass(frozen=True, repr=False)
class ChangeParts(Readable):
    """Change of Pass@k at one k, which is the sum of two parts; each interval is of this k alone.

    Attributes:
        k: Number of answers drawn.
        change: Change of Pass@k.
        solved_set: Part of the prompts that only one side solves in equally many answers.
        narrowing: Part of the prompts that both sides solve, some more rarely, others more often.
    """

    k: int
    change: Estimate
    solved_set: Estimate
    narrowing: Estimate


def change_parts(pairs: PairedCounts, ks: Sequence[int], rng: np.random.Generator) -> tuple[ChangeParts, ...]:
    """Split the change of Pass@k at each k of `ks`, over the prompts with at least max(ks) answers."""
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
    """Powers of two up to `most`, and `most`: the k that tables show."""
    return tuple(sorted({2**i for i in range(most.bit_length()) if 2**i <= most} | {most}))
