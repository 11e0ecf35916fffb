"""Changed prompts: solved ones retained and lost, each prompt's rate, and the log odds over all prompts.

Tests are given each prompt's total of correct answers, so that the base's rate does not enter: the
hypergeometric distribution.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.special import bdtr, gammaincc, gammaln, ndtr

from ..intervals import LEVEL, Estimate, from_influence, share
from ..support.record import Readable
from .counts import PairedCounts
from .rates import rate_spread

_FALSE_DISCOVERIES = 0.05


@dataclass(frozen=True, repr=False)
class SolvedPrompts(Readable):
    """Prompts solved at least once, in equal numbers of answers on both sides.

    Attributes:
        retained: The run's share of the prompts that the base solves; None if the base solves none.
        new: The run's share of the other prompts; None if there are none.
        solved_by_base, lost, gained: Numbers of prompts.
        p_value: Exact test of lost against gained prompts.
        retained_unchanged, new_unchanged: The shares that a model with the base's rates would reach; None
            where one answer per prompt, or no solved prompt, says nothing of the rates.
        lost_again: Expected share of the lost prompts that as many further answers would solve.
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
    """Count the prompts retained and newly solved, with exact intervals and an exact test."""
    pairs = pairs.thinned(rng)
    n, before, after = pairs.base_n, pairs.base_c > 0, pairs.run_c > 0
    lost, gained = before & ~after, ~before & after
    one_side = int(lost.sum()), int(gained.sum())

    def solved_again(c: np.ndarray, population: np.ndarray, which: np.ndarray) -> float | None:
        if pairs.has_single_answers or not which.any():
            return None
        return float(rate_spread(n[population], c[population]).solved_in(n[which], c[which], n[which]).mean())

    every = np.full(len(n), True)
    return SolvedPrompts(
        retained=share(int((before & after).sum()), int(before.sum())) if before.any() else None,
        new=share(int(gained.sum()), int((~before).sum())) if not before.all() else None,
        solved_by_base=int(before.sum()),
        lost=one_side[0],
        gained=one_side[1],
        p_value=min(1.0, 2 * float(bdtr(min(one_side), sum(one_side), 0.5))),
        retained_unchanged=solved_again(pairs.base_c, every, before),
        new_unchanged=solved_again(pairs.base_c, every, ~before) if before.any() else None,
        lost_again=solved_again(pairs.run_c, before, lost),
    )


@dataclass(frozen=True)
class ChangedPrompt:
    """A prompt with its pass rates before and after training."""

    id: str
    before: float
    after: float


def changed(pairs: PairedCounts) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the prompts whose rate fell, and of those whose rate rose, clearest first.

    Fisher's exact test of each, doubled for both tails; Benjamini and Hochberg expect 5% false names.
    """
    n, total = pairs.base_n + pairs.run_n, pairs.base_c + pairs.run_c
    fell = stats.hypergeom.cdf(pairs.run_c, n, total, pairs.run_n)
    rose = stats.hypergeom.sf(pairs.run_c - 1, n, total, pairs.run_n)
    p = np.clip(2 * np.minimum(fell, rose), 0, 1)
    order = np.argsort(p, kind="stable")
    named = order[stats.false_discovery_control(p)[order] <= _FALSE_DISCOVERIES]
    return named[fell[named] < rose[named]], named[fell[named] >= rose[named]]


@dataclass(frozen=True, repr=False)
class LogOddsShift(Readable):
    """Rise of the log odds over prompts, which is 1/beta on every prompt at a reverse-KL optimum.

    Attributes:
        pooled: Mantel and Haenszel's log odds ratio.
        informative: Number of prompts with correct and incorrect answers.
        p_no_change: p-value of "no prompt's rate changed".
        p_one_shift: p-value of "the log odds of all prompts move by the pooled shift".
    """

    pooled: Estimate
    informative: int
    p_no_change: float
    p_one_shift: float = 1.0

    @property
    def identified(self) -> bool:
        """True if the shift has a finite interval."""
        return bool(np.isfinite(self.pooled.low))

    @property
    def changed(self) -> bool:
        """True if a shift of zero is rejected at 95% confidence."""
        return self.p_no_change < 1 - LEVEL

    @property
    def beta(self) -> Estimate | None:
        """KL coefficient whose reverse-KL optimum has this shift; None unless one rise fits all prompts."""
        if not self.identified or self.pooled.low <= 0 or self.p_one_shift < 1 - LEVEL:
            return None
        return Estimate(1 / self.pooled.value, 1 / self.pooled.high, 1 / self.pooled.low)


def log_odds_shift(pairs: PairedCounts) -> LogOddsShift:
    """Estimate the shift of the log odds of success; infinite interval if no prompt is informative."""
    total = pairs.base_c + pairs.run_c
    informative = pairs.chosen((total > 0) & (total < pairs.base_n + pairs.run_n))
    if not len(informative):
        return LogOddsShift(Estimate(0.0, -np.inf, np.inf), 0, 1.0)
    pooled = _mantel_haenszel(informative)
    finite = bool(np.isfinite(pooled.value))
    one_shift = _shift_p_values(informative, pooled.value)[1] if finite else 1.0
    return LogOddsShift(
        pooled, len(informative), min(1.0, 2 * min(_shift_p_values(informative, 0.0))), one_shift
    )


def _mantel_haenszel(pairs: PairedCounts) -> Estimate:
    """Pooled log odds ratio log(sum R / sum S), R = c1 (n0-c0)/(n0+n1), S = c0 (n1-c1)/(n0+n1).

    The interval comes from the influences R/sum R - S/sum S of independent prompts; it does not assume that
    all prompts share one odds ratio. Source: Mantel and Haenszel, J. Natl. Cancer Inst. 22, 1959.
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


def _shift_p_values(pairs: PairedCounts, shift: float) -> tuple[float, float]:
    """p-values of one shift of all log odds, from the run's correct answers x given each prompt's total.

    The first is of sum x - E, normal (Cochran, Biometrics 10, 1954), the second of sum (x - E)^2, which moves
    up and down both make greater, by the shifted gamma distribution of its first three moments.
    """
    moments = np.empty((4, len(pairs)))
    for which, x, chance in _given_totals(pairs, shift):
        center = chance @ x
        squares = (x - center) ** 2
        variance = chance @ squares
        powers = (chance @ (squares - variance) ** power for power in (2, 3))
        moments[:, which] = np.array([center, variance, *powers])[:, None]
    mean, variance, spread, cubes = moments
    away = pairs.run_c - mean
    moved = 2 * ndtr(-abs(away.sum()) / np.sqrt(variance.sum()))
    if spread.sum() < 1e-12:
        return float(moved), 1.0
    z, skewness = (away**2 - variance).sum() / np.sqrt(spread.sum()), cubes.sum() / spread.sum() ** 1.5
    shape = 4 / max(skewness, 1e-6) ** 2
    varied = ndtr(-z) if skewness < 1e-6 else gammaincc(shape, max(shape + 2 * z / skewness, 0.0))
    return float(moved), float(varied)


def _given_totals(pairs: PairedCounts, shift: float) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield per (base n, run n, total correct): prompts' indices, the run's possible c, probabilities."""
    columns = np.stack([pairs.base_n, pairs.run_n, pairs.base_c + pairs.run_c])
    margins, place = np.unique(columns, axis=1, return_inverse=True)
    for i, (n0, n1, both) in enumerate(margins.T):
        x = np.arange(max(0, both - n0), min(n1, both) + 1)
        parts = [gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) for n, k in ((n0, both - x), (n1, x))]
        log_chance = np.add(*parts) + shift * x
        chance = np.exp(log_chance - log_chance.max())
        yield place == i, x, chance / chance.sum()
