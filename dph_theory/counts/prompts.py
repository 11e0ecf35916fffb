"""Which prompts changed, and how far: solved ones kept and lost, each prompt's rate, the log odds.

Tests of a prompt, and those over prompts, are given its total of correct answers: Fisher's noncentral
hypergeometric law, free of the base's rate.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats
from scipy.special import ndtr

from ..intervals import LEVEL, Estimate, from_influence, share
from ..support.record import readable
from .pairs import Pairs
from .rates import floored_log, log_ways, rate_spread

FALSE_DISCOVERIES = 0.05
"""The expected share of wrong names among the prompts that are named."""
MOST_PROMPTS = 10_000
"""Of more prompts so many decide between the laws."""
_FARTHEST = 10.0
"""Beyond such log odds ratios a thousand answers tell little apart."""
_PER_DEVIATION = 1.5
"""Points of the grid of log odds ratios per standard error of the surest prompt's."""
_FOR_SPREAD, _COST = (1500, MOST_PROMPTS), 3e6
"""Of more prompts so many tell how far shifts vary, the fewer the more answers: prompts times answers."""
_WIDEST = 8.0
"""The largest spread of shifts that is looked for."""


@dataclass(frozen=True)
class SolvedPrompts:
    """Prompts solved at least once: the run's share of those that the base solves, and of the others.

    All at equal numbers of answers (`Pairs.thinned`). `p_value` is exact: were base and run alike, a prompt
    that only one of them solves would be either's with equal chance. `kept_unchanged`, `new_unchanged` are
    what a model with the base's rates would reach. A prompt never solved in n answers may have a small rate:
    `lost_again` of the lost prompts the run would solve in n further answers, `gained_before` of the gained
    ones the base would have, in expectation (`rate_spread`). A number over no prompts is None,
    and so is `new_unchanged` for a base that solves none: its rates could be any small ones; and all that
    need the spread of rates where one answer to a prompt says nothing of it.
    `never` prompts were solved by neither; the rate of each is below `never_below` with 95% confidence.
    """

    __repr__ = readable

    kept: Estimate | None
    new: Estimate | None
    solved_by_base: int
    lost: int
    gained: int
    p_value: float
    kept_unchanged: float | None
    new_unchanged: float | None
    lost_again: float | None
    gained_before: float | None
    never: int
    never_below: float


def solved_prompts(pairs: Pairs, rng: np.random.Generator) -> SolvedPrompts:
    """The prompts kept and newly solved, with exact intervals and an exact test."""
    pairs = pairs.thinned(rng)
    n, before, after = pairs.base_n, pairs.base_c > 0, pairs.run_c > 0
    lost, gained = int((before & ~after).sum()), int((~before & after).sum())
    again = None if pairs.single else rate_spread(n, pairs.base_c).solved_in(n, pairs.base_c, n)
    never = ~before & ~after
    return SolvedPrompts(
        kept=share(int((before & after).sum()), int(before.sum())) if before.any() else None,
        new=share(gained, int((~before).sum())) if not before.all() else None,
        solved_by_base=int(before.sum()),
        lost=lost,
        gained=gained,
        p_value=float(stats.binomtest(lost, lost + gained).pvalue) if lost + gained else 1.0,
        kept_unchanged=None if again is None else _mean(again[before]),
        new_unchanged=_mean(again[~before]) if again is not None and before.any() else None,
        lost_again=None if pairs.single else _further(n, pairs.run_c, before, before & ~after),
        gained_before=None if pairs.single else _further(n, pairs.base_c, after, ~before & after),
        never=int(never.sum()),
        never_below=float(1 - 0.05 ** (1 / n[never].min())) if never.any() else 0.0,
    )


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None


def _further(n: np.ndarray, c: np.ndarray, like: np.ndarray, those: np.ndarray) -> float | None:
    """The chance that n further answers solve one of those prompts, with rates spread as among the `like`."""
    if not those.any():
        return None
    return float(rate_spread(n[like], c[like]).solved_in(n[those], c[those], n[those]).mean())


@dataclass(frozen=True, eq=False)
class Margin:
    """Prompts of the same base_n, run_n and total of correct answers: the run's may be first, first + 1, ...

    At log odds theta above the base's, P(x) ~ C(run_n, x) C(base_n, total - x) e^(x theta).
    """

    __repr__ = readable

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
        yield Margin(int(x[0]), log_ways(n1, x) + log_ways(n0, both - x)), members


def changed(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """The prompts whose rate fell, and those whose rate rose, by Fisher's exact test on each.

    Of the prompts named, a share of `FALSE_DISCOVERIES` is expected to be wrong (Benjamini and Hochberg over
    both tails of all prompts together). Gives their places, the clearest first.
    """
    fell, rose = fisher(pairs)
    p = np.minimum(1.0, 2 * np.minimum(fell, rose))
    named = named_by(p)
    return named[fell[named] < rose[named]], named[fell[named] >= rose[named]]


def fisher(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """P(as few correct answers of the run's or fewer) and P(as many or more), given each prompt's total."""
    law = stats.hypergeom(pairs.base_n + pairs.run_n, pairs.base_c + pairs.run_c, pairs.run_n)
    return law.cdf(pairs.run_c), law.sf(pairs.run_c - 1)


def named_by(p_values: np.ndarray) -> np.ndarray:
    """The places that Benjamini and Hochberg's procedure names, smallest p-value first."""
    order = np.argsort(p_values, kind="stable")
    return order[stats.false_discovery_control(p_values)[order] <= FALSE_DISCOVERIES]


@dataclass(frozen=True)
class LogOddsShift:
    """The rise of the log odds over prompts; `informative` of them have correct and incorrect answers.

    `pooled` is Mantel and Haenszel's log odds ratio, its interval valid whether or not the shifts agree.
    `p_one_shift` tests that they do, `p_no_change` that there are none (`no_change`). If they are normal over
    prompts, `centre` and `spread` are their mean and standard deviation by maximum likelihood, with profile
    intervals; None where no prompt has two answers on both sides.
    """

    __repr__ = readable

    pooled: Estimate
    informative: int
    p_no_change: float
    p_one_shift: float
    centre: float | None
    spread: Estimate | None

    @property
    def identified(self) -> bool:
        """Whether both checkpoints have correct and incorrect answers, without which no law has a beta."""
        return bool(np.isfinite(self.pooled.low))

    @property
    def changed(self) -> bool:
        """Whether "no change" is rejected."""
        return self.p_no_change < 1 - LEVEL


def log_odds_shift(pairs: Pairs) -> LogOddsShift:
    """The shift of the log odds; not known where no prompt has both correct and incorrect answers."""
    total = pairs.base_c + pairs.run_c
    informative = pairs.chosen((total > 0) & (total < pairs.base_n + pairs.run_n))
    if not len(informative):
        nothing = Estimate(0.0, -np.inf, np.inf)
        return LogOddsShift(nothing, 0, no_change(pairs), 1.0, None, None)
    centre, spread = (None, None) if informative.single else shifts(informative)
    varies = one_shift(informative)
    together = min(1.0, 2 * min(no_change(pairs), varies))
    return LogOddsShift(mantel_haenszel(informative), len(informative), together, varies, centre, spread)


def no_change(pairs: Pairs) -> float:
    """The p-value of equal rates of each prompt: the run's correct answers in all, given each prompt's total.

    Source: Cochran, Biometrics 10, 1954; Mantel and Haenszel, 1959.
    """
    n, total = pairs.base_n + pairs.run_n, pairs.base_c + pairs.run_c
    share = total / n
    away = float((pairs.run_c - pairs.run_n * share).sum())
    variance = float((pairs.run_n * pairs.base_n * share * (1 - share) / (n - 1)).sum())
    return float(2 * stats.norm.sf(abs(away) / np.sqrt(variance))) if variance > 0 else 1.0


def mantel_haenszel(pairs: Pairs) -> Estimate:
    """The pooled log odds ratio log(sum_i R_i / sum_i S_i), R = c1 (n0-c0)/(n0+n1), S = c0 (n1-c1)/(n0+n1).

    Consistent for few answers to many prompts and for many answers to few. The interval comes from the
    prompts' influences R_i/sum R - S_i/sum S, prompts independent; it is not narrowed by the assumption
    that all prompts share one odds ratio. Source: Mantel and Haenszel, J. Natl. Cancer Inst. 22, 1959.
    """
    n = pairs.base_n + pairs.run_n
    up = pairs.run_c * (pairs.base_n - pairs.base_c) / n
    down = pairs.base_c * (pairs.run_n - pairs.run_c) / n
    if up.sum() == 0 or down.sum() == 0:
        value = np.inf if up.sum() else -np.inf
        return Estimate(value, -np.inf, np.inf)
    influence = len(n) * (up / up.sum() - down / down.sum())
    if not np.ptp(influence):
        # All prompts say the same, as with two copies of one file: nothing tells how sure that is.
        return Estimate(float(np.log(up.sum() / down.sum())), -np.inf, np.inf)
    return from_influence(float(np.log(up.sum() / down.sum())), influence)


def one_shift(pairs: Pairs) -> float:
    """The p-value of one shift for all prompts against shifts that vary.

    With x the run's correct answers given the prompt's total, sum_i (x_i - E_i)^2 - V_i at the common shift
    (conditional maximum likelihood), over its standard deviation, is normal under one shift also for few
    answers to many prompts; skewness is met by a shifted gamma law. Source: Liang and Self, Biometrika
    72, 1985, the score test of no over-dispersion.
    """
    margins = list(margins_of(pairs))

    def moments(theta: float, most: int = 2) -> np.ndarray:
        """Per prompt: x - E, and the central moments from two on."""
        found = np.empty((most, len(pairs)))
        for margin, members in margins:
            chance = margin.chances(np.array([theta]))[0]
            centre = chance @ margin.support
            away = margin.support - centre
            found[0, members] = pairs.run_c[members] - centre
            part = chance * away
            for power in range(1, most):
                part *= away
                found[power, members] = part.sum()
        return found

    theta = float(np.clip(mantel_haenszel(pairs).value, -_FARTHEST, _FARTHEST))
    for _ in range(30):
        found = moments(theta)
        step = found[0].sum() / max(found[1].sum(), 1e-300)
        theta = float(np.clip(theta + np.clip(step, -1, 1), -_FARTHEST, _FARTHEST))
        if abs(step) < 1e-8:
            break
    away, second, third, fourth, fifth, sixth = moments(theta, 6)
    # What the estimated shift already explains of (x-E)^2 - V is taken off: slope times x-E.
    slope = third.sum() / second.sum()
    score = (away**2 - second).sum()
    variance = (fourth - second**2 - 2 * slope * third + slope**2 * second).sum()
    cubes = sixth - 3 * second * fourth + 2 * second**3
    cubes -= 3 * slope * (fifth - 2 * second * third)
    cubes += 3 * slope**2 * (fourth - second**2) - slope**3 * third
    if variance <= 0:
        return 1.0
    return _upper_tail(score / np.sqrt(variance), float(cubes.sum() / variance**1.5))


def _upper_tail(z: float, skewness: float) -> float:
    """P(Z > z) for Z of mean 0, variance 1 and that skewness: a shifted gamma law, normal at skewness 0."""
    if skewness < 1e-6:
        return float(stats.norm.sf(z))
    return float(stats.pearson3.sf(z, skewness))


def shifts(pairs: Pairs) -> tuple[float, Estimate]:
    """The mean and the standard deviation (with its profile interval) of shifts that are normal over prompts.

    Maximum likelihood given each prompt's total, so that the base's rates play no part; of more than 10 000
    prompts (1500 with a thousand answers each) so many, evenly spread in their order, are used.
    """
    most = int(np.clip(_COST / (pairs.base_n.max() + pairs.run_n.max()), *_FOR_SPREAD))
    pairs = pairs.chosen(np.unique(np.linspace(0, len(pairs) - 1, min(len(pairs), most)).astype(int)))
    width = np.sqrt(4 / pairs.base_n.max() + 4 / pairs.run_n.max()) / _PER_DEVIATION
    grid = np.linspace(-_FARTHEST, _FARTHEST, 2 * int(np.ceil(_FARTHEST / width)) + 1)
    rows, counts = _likelihoods(pairs, grid)

    def at(centre: float, spread: float) -> float:
        chance = rows @ _hats(grid, centre, spread)
        return float(counts @ floored_log(chance))

    def profile(spread: float) -> tuple[float, float]:
        found = optimize.minimize_scalar(
            lambda centre: -at(centre, spread), (guess - 0.2, guess + 0.2), tol=1e-4
        )
        return -float(found.fun), float(found.x)

    guess = float(np.clip(mantel_haenszel(pairs).value, -_FARTHEST / 2, _FARTHEST / 2))
    best = optimize.minimize_scalar(
        lambda spread: -profile(spread)[0], bounds=(0, _WIDEST), method="bounded", options={"xatol": 1e-3}
    )
    spread = float(best.x) if -best.fun > profile(0.0)[0] else 0.0
    height, centre = profile(spread)
    bar = height - stats.chi2.ppf(LEVEL, 1) / 2

    def above(value: float) -> float:
        return profile(value)[0] - bar

    low = 0.0 if spread == 0 or above(0.0) > 0 else float(optimize.brentq(above, 0.0, spread, xtol=1e-3))
    high = np.inf if above(_WIDEST) > 0 else float(optimize.brentq(above, spread, _WIDEST, xtol=1e-3))
    return centre, Estimate(spread, low, high)


def _likelihoods(pairs: Pairs, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The conditional probability of each different prompt's counts on the grid, and how often it occurs."""
    rows, counts = [], []
    for margin, members in margins_of(pairs):
        x, seen = np.unique(pairs.run_c[members], return_counts=True)
        rows.append(margin.chances_of(x, grid))
        counts.append(seen)
    return np.concatenate(rows), np.concatenate(counts)


def _hats(grid: np.ndarray, centre: float, spread: float) -> np.ndarray:
    """The weights that integrate a function, linear between the grid's points, under N(centre, spread^2)."""
    step = grid[1] - grid[0]
    x = np.concatenate([[grid[0] - step], grid, [grid[-1] + step]]) - centre
    if spread < 1e-9:
        ramp = np.maximum(x, 0.0)
    else:
        ramp = x * ndtr(x / spread) + spread * stats.norm.pdf(x / spread)
    return np.diff(ramp, 2) / step
