"""Which prompts changed, and how far: solved ones retained and lost, each prompt's rate, the log odds.

Tests of a prompt, and those over prompts, are given its total of correct answers: the hypergeometric
distribution, free of the base's rate.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, gammaincc, gammaln, ndtr

from ..intervals import LEVEL, Estimate, from_influence, share
from ..support.record import Readable
from .counts import PairedCounts
from .rates import rate_spread

FALSE_DISCOVERIES = 0.05
"""The expected share of wrong names among the prompts that are named."""


@dataclass(frozen=True, repr=False)
class SolvedPrompts(Readable):
    """Prompts solved at least once: the run's share of those that the base solves, and of the others.

    All at equal numbers of answers (`PairedCounts.thinned`). `p_value` is exact: were base and run alike, a
    prompt that only one of them solves would be either's with equal chance. `retained_unchanged` and
    `new_unchanged` are what a model with the base's rates would reach. A prompt never solved in n answers may
    have a small rate: `lost_again` of the lost prompts the run would solve in n further answers, in
    expectation (`rate_spread`).
    A number over no prompts is None, and so is `new_unchanged` for a base that solves none: its rates could
    be any small ones; and all that need the spread of rates where one answer to a prompt says nothing of it.
    """

    retained: Estimate | None
    new: Estimate | None
    solved_by_base: int
    lost: int
    gained: int
    p_value: float
    retained_unchanged: float | None
    new_unchanged: float | None
    lost_again: float | None


def solved_prompts(pairs: PairedCounts, rng: np.random.Generator) -> SolvedPrompts:
    """The prompts retained and newly solved, with exact intervals and an exact test."""
    pairs = pairs.thinned(rng)
    n, before, after = pairs.base_n, pairs.base_c > 0, pairs.run_c > 0
    lost, gained = before & ~after, ~before & after
    either = int((lost | gained).sum())

    def solved_again(c: np.ndarray, population: np.ndarray, which: np.ndarray) -> float | None:
        """The chance that n further answers solve one of these, with rates spread as among `population`."""
        if pairs.has_single_answers or not which.any():
            return None
        return float(rate_spread(n[population], c[population]).solved_in(n[which], c[which], n[which]).mean())

    every = np.full(len(n), True)
    return SolvedPrompts(
        retained=share(int((before & after).sum()), int(before.sum())) if before.any() else None,
        new=share(int(gained.sum()), int((~before).sum())) if not before.all() else None,
        solved_by_base=int(before.sum()),
        lost=int(lost.sum()),
        gained=int(gained.sum()),
        p_value=min(1.0, 2 * float(bdtr(min(int(lost.sum()), int(gained.sum())), either, 0.5))),
        retained_unchanged=solved_again(pairs.base_c, every, before),
        new_unchanged=solved_again(pairs.base_c, every, ~before) if before.any() else None,
        lost_again=solved_again(pairs.run_c, before, lost),
    )


@dataclass(frozen=True)
class ChangedPrompt:
    """A prompt whose rate changed: what it was before and after."""

    id: str
    before: float
    after: float


def changed(pairs: PairedCounts) -> tuple[np.ndarray, np.ndarray]:
    """The prompts whose rate fell, and those whose rate rose, by Fisher's exact test on each.

    Of the prompts named, a share of `FALSE_DISCOVERIES` is expected to be wrong (Benjamini and Hochberg over
    both tails of all prompts together). Gives their places, the clearest first.
    """
    fell, rose = np.ones(len(pairs)), np.ones(len(pairs))
    for which, x, chance in _given_totals(pairs):
        at = pairs.run_c[which] - x[0]
        fell[which], rose[which] = np.cumsum(chance)[at], np.cumsum(chance[::-1])[::-1][at]
    p = np.minimum(1.0, 2 * np.minimum(fell, rose))
    order = np.argsort(p, kind="stable")
    # From the greatest down a p is no more than those above it, times the prompts over its rank.
    rates = np.minimum.accumulate((p[order] * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1]
    named = order[rates <= FALSE_DISCOVERIES]
    return named[fell[named] < rose[named]], named[fell[named] >= rose[named]]


def _given_totals(pairs: PairedCounts) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """By prompts of equal n and total: which they are, the run's possible counts, and their probabilities."""
    columns = np.stack([pairs.base_n, pairs.run_n, pairs.base_c + pairs.run_c])
    margins, place = np.unique(columns, axis=1, return_inverse=True)
    for i, (n0, n1, both) in enumerate(margins.T):
        x = np.arange(max(0, both - n0), min(n1, both) + 1)
        parts = [gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) for n, k in ((n0, both - x), (n1, x))]
        chance = np.exp(np.add(*parts) - np.add(*parts).max())
        yield place == i, x, chance / chance.sum()


@dataclass(frozen=True, repr=False)
class LogOddsShift(Readable):
    """The rise of the log odds over prompts; `informative` of them have correct and incorrect answers.

    `pooled` is Mantel and Haenszel's log odds ratio, its interval valid whether or not the shifts agree.
    `p_no_change` tests that no prompt's rate moved.
    """

    pooled: Estimate
    informative: int
    p_no_change: float

    @property
    def identified(self) -> bool:
        """True if prompts show a shift and how sure it is, without which no policy has a beta."""
        return bool(np.isfinite(self.pooled.low))

    @property
    def changed(self) -> bool:
        """True if "no change" is rejected."""
        return self.p_no_change < 1 - LEVEL


def log_odds_shift(pairs: PairedCounts) -> LogOddsShift:
    """The shift of the log odds; not known where no prompt has both correct and incorrect answers."""
    total = pairs.base_c + pairs.run_c
    informative = pairs.chosen((total > 0) & (total < pairs.base_n + pairs.run_n))
    if not len(informative):
        return LogOddsShift(Estimate(0.0, -np.inf, np.inf), 0, 1.0)
    return LogOddsShift(mantel_haenszel(informative), len(informative), no_change(informative))


def mantel_haenszel(pairs: PairedCounts) -> Estimate:
    """The pooled log odds ratio log(sum_i R_i / sum_i S_i), R = c1 (n0-c0)/(n0+n1), S = c0 (n1-c1)/(n0+n1).

    Consistent for few answers to many prompts and for many answers to few. The interval comes from the
    prompts' influences R_i/sum R - S_i/sum S, prompts independent; it is not narrowed by the assumption
    that all prompts share one odds ratio. Source: Mantel and Haenszel, J. Natl. Cancer Inst. 22, 1959.
    """
    n = pairs.base_n + pairs.run_n
    up = pairs.run_c * (pairs.base_n - pairs.base_c) / n
    down = pairs.base_c * (pairs.run_n - pairs.run_c) / n
    if up.sum() == 0 or down.sum() == 0:
        return Estimate(np.inf if up.sum() else -np.inf, -np.inf, np.inf)
    influence = len(n) * (up / up.sum() - down / down.sum())
    value = float(np.log(up.sum() / down.sum()))
    # Where all prompts say the same, as with two copies of one file, nothing tells how sure that is.
    return from_influence(value, influence) if np.ptp(influence) else Estimate(value, -np.inf, np.inf)


def no_change(pairs: PairedCounts) -> float:
    """The p-value of equal rates of each prompt, from the run's correct answers x given the prompt's total.

    Two tests, either of which may reject (Bonferroni): of sum x - E, normal (Cochran, Biometrics 10, 1954),
    and of sum (x - E)^2, which moves up and down both make greater, by the shifted gamma distribution of its
    first three moments.
    """
    moments = np.empty((4, len(pairs)))
    for which, x, chance in _given_totals(pairs):
        center = chance @ x
        squares = (x - center) ** 2
        variance = chance @ squares
        powers = (chance @ (squares - variance) ** power for power in (2, 3))
        moments[:, which] = np.array([center, variance, *powers])[:, None]
    mean, variance, spread, cubes = moments
    away = pairs.run_c - mean
    moved = 2 * ndtr(-abs(away.sum()) / np.sqrt(variance.sum()))
    if spread.sum() < 1e-12:
        return float(moved)
    z, skewness = (away**2 - variance).sum() / np.sqrt(spread.sum()), cubes.sum() / spread.sum() ** 1.5
    shape = 4 / max(skewness, 1e-6) ** 2
    varied = ndtr(-z) if skewness < 1e-6 else gammaincc(shape, max(shape + 2 * z / skewness, 0.0))
    return min(1.0, 2 * float(min(moved, varied)))
