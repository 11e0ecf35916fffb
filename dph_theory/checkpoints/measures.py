"""Further measures of two checkpoints: Pass^k, maj@k beside Pass@k, styles, Pass@k by category."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import product

import numpy as np
from scipy.special import gammaln

from ..coverage import pass_at_k
from ..intervals import LEVEL, Estimate, bounded_mean, mean_interval
from ..numeric.arrays import Scalars, integers
from ..numeric.elementary import Values
from ..support.errors import argument_error
from ..support.record import Readable
from .counts import MatchedRows, PairedCounts, PromptRow
from .pass_at_k import curves

_MOST_VOTES, _LEAST_VOTE, _MOST_DRAWN = 2048, 3, 64
"""Answers to a prompt, and k, between which maj@k is given: maj@2 is Pass@1, and more take long to sum."""


def all_at_k(n: Scalars, c: Scalars, k: Scalars) -> Values:
    """Pass^k, the chance that all of k answers are correct, unbiased from c of n: C(c, k)/C(n, k).

    Shapes and errors are those of `pass_at_k`.

    Example:
        >>> float(all_at_k(10, 5, 2).round(4))
        0.2222
    """
    n, c = integers("n", n, at_least=1), integers("c", c, at_least=0)
    if (c > n).any():
        raise argument_error("c", int(c.max()), "at most n, the number of samples")
    return 1 - pass_at_k(n, n - c, k)


GROUPS = "groups of {} all correct or all incorrect"
"""Name of the measure of groups that teach nothing without a KL."""


def _sides(pairs: PairedCounts, k: int) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """(n, c) of the base and of the run, each (prompts,), for the prompts with at least k answers."""
    pairs = pairs.chosen(pairs.shared_answers >= k)
    return (pairs.base_n, pairs.base_c), (pairs.run_n, pairs.run_c)


def majority_at_k(votes: Sequence[tuple[int, int]], k: int) -> float:
    """maj@k: chance that the commonest of k answers, drawn without replacement, is correct; unbiased.

    Ties are broken by lot. An answer leads with m votes, and wins the lot, with the binomial chance of its m
    times the coefficient of x^(k-m) in int_0^1 prod (sum_{a<m} P(a) x^a + y P(m) x^m) dy over the others,
    since int y^t dy = 1/(t+1) for t others level with it: exact by a Gauss rule in y and a Fourier sum in x.

    Args:
        votes: How often each different answer was given, and how often it was correct then.
        k: Answers drawn, from 1 to the number of answers; else ValueError.

    Example:
        >>> round(float(majority_at_k([(2, 2), (1, 0), (1, 0)], 3)), 4)
        0.6667
    """
    often, right = np.array(votes).T
    n = int(often.sum())
    if not 1 <= k <= n:
        raise argument_error("k", k, f"from 1 to {n}: the answers to the prompt")
    sizes, counts = np.unique(often, return_counts=True)
    chances = _binomial(np.arange(n + 1)[:, None], sizes, k / (n + 1))
    powers, total = _roots_of_unity(n + 1), 0.0
    for m in range(1, min(k, int(often[right > 0].max(initial=0))) + 1):
        y, weight = np.polynomial.legendre.leggauss(k // m // 2 + 1)
        fewer, level = powers[:, :m] @ chances[:m], np.outer(powers[:, m], chances[m])
        generating = fewer + (y[:, None, None] + 1) / 2 * level
        for size in sizes[(sizes >= m)]:
            other_counts = counts - (sizes == size)
            if (share := float((right[often == size] / size).sum())) > 0:
                along = weight / 2 @ (generating**other_counts).prod(axis=2)
                total += share * chances[m, sizes == size][0] * float((along @ powers[:, k - m].conj()).real)
    return total / (n + 1) / float(_binomial(k, n, k / (n + 1)))


def _binomial(c: Scalars, n: Scalars, rate: float) -> np.ndarray:
    c, n = np.broadcast_arrays(c, n)
    log_ways = gammaln(n + 1) - gammaln(c + 1) - gammaln(n - c + 1)
    return np.asarray(np.exp(log_ways + c * np.log(rate) + (n - c) * np.log1p(-rate)))


@lru_cache(maxsize=2)
def _roots_of_unity(n: int) -> np.ndarray:
    return np.exp(2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n)


@dataclass(frozen=True, repr=False)
class Measure(Readable):
    """A measure of the base and of the run, and its change, over so many prompts.

    Intervals are over prompts and of this measure alone, except that those of categories hold together.
    `on_request` is True for a measure that was asked for.
    """

    name: str
    prompts: int
    base: Estimate
    run: Estimate
    change: Estimate
    on_request: bool = False


def measures(matched: MatchedRows, k: int, group_size: int, rng: np.random.Generator) -> tuple[Measure, ...]:
    """Measure uniform groups, Pass^k, styles, and Pass@1 and Pass@k by category; one Measure each.

    `group_size` is reduced to the number of answers; Pass^k is over the prompts with k answers.
    """
    rows = []
    if (size := min(group_size, matched.counts.typical_answers)) > 1:
        uniform = (all_at_k(n, c, size) + all_at_k(n, n - c, size) for n, c in _sides(matched.counts, size))
        rows.append(_measure(GROUPS.format(size), rng, *uniform))
    if k > 1:
        correct = (all_at_k(n, c, k) for n, c in _sides(matched.counts, k))
        rows.append(_measure(f"Pass^{k}: all of {k} correct", rng, *correct))
    if (kinds := _styles(matched.base, matched.run)) is not None:
        rows.append(kinds)
    return (*rows, *_by_category(matched, k, rng))


def consensus(matched: MatchedRows, most: int, rng: np.random.Generator) -> tuple[Measure, ...]:
    """Measure maj@k and Pass@k at one k; empty if texts are missing.

    k is half of what prompts can show, so that a vote is a mean over draws; at most 64 of 2048 answers.
    """
    k = min(max(most // 2, _LEAST_VOTE), _MOST_DRAWN)
    pairs = zip(matched.base, matched.run, strict=True)
    voted = [pair for pair in pairs if all(row.votes and k <= row.n <= _MOST_VOTES for row in pair)]
    if not voted:
        return ()
    majority, sides = cache(partial(majority_at_k, k=k)), [*zip(*voted, strict=True)]
    votes = (np.array([majority(row.votes) for row in side]) for side in sides)
    solved = (pass_at_k([row.n for row in side], [row.c for row in side], k) for side in sides)
    return _measure(f"maj@{k}", rng, *votes), _measure(f"Pass@{k}", rng, *solved)


def _measure(
    name: str, rng: np.random.Generator, before: np.ndarray, after: np.ndarray, *, level: float = LEVEL
) -> Measure:
    base, run = (bounded_mean(values, rng, low=0.0, level=level) for values in (before, after))
    return Measure(name, len(before), base, run, bounded_mean(after - before, rng, level=level))


def _styles(base: Sequence[PromptRow], run: Sequence[PromptRow]) -> Measure | None:
    """Mean unbiased number of distinct styles in k styled answers, base and run; None without styles.

    k is the smallest number of such answers over the prompts with at least two on both sides.
    """
    counts = [[np.array([*(row.styles or {}).values()], int) for row in side] for side in (base, run)]
    both = [pair for pair in zip(*counts, strict=True) if min(side.sum() for side in pair) > 1]
    if not both:
        return None
    k = int(min(side.sum() for pair in both for side in pair))
    before, after = (
        np.array([pass_at_k(styles.sum(), styles, k).sum() for styles in side])
        for side in zip(*both, strict=True)
    )
    name = f"different styles in {k} answers that have one"
    return Measure(
        name, len(both), mean_interval(before), mean_interval(after), mean_interval(after - before)
    )


def _by_category(matched: MatchedRows, k: int, rng: np.random.Generator) -> list[Measure]:
    """Pass@1 and Pass@k in each category; intervals of the changes are simultaneous (Bonferroni)."""
    names = [row.category for row in matched.base]
    if not any(names):
        return []
    reach = matched.counts.shared_answers >= k
    categories = np.array(["none" if name is None else name for name in names])[reach]
    ks = sorted({1, k})
    sides = [curves(n, c, ks) for n, c in _sides(matched.counts, k)]
    kinds = sorted(set(categories.tolist()))
    level = 1 - (1 - LEVEL) / (len(ks) * len(kinds))
    rows = []
    for kind, (i, at) in product(kinds, enumerate(ks)):
        before, after = (side[categories == kind, i] for side in sides)
        row = _measure(f"Pass@{at}, {kind}", rng, before, after, level=level)
        rows.append(replace(row, on_request=True))
    return rows
