"""How far training moved the log odds of a correct answer, and whether by the same on every prompt."""

from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats
from scipy.special import ndtr

from .conditional import margins_of
from .estimate import LEVEL, MOST_PROMPTS, Estimate, from_influence
from .mixing import floored_log
from .pairs import Pairs

_FARTHEST = 10.0
"""Beyond such log odds ratios a thousand answers tell little apart."""
_PER_DEVIATION = 1.5
"""Points of the grid of log odds ratios per standard error of the surest prompt's."""
_FOR_SPREAD, _COST = (1500, MOST_PROMPTS), 3e6
"""Of more prompts so many tell how far shifts vary, the fewer the more answers: prompts times answers."""
_WIDEST = 8.0
"""The largest spread of shifts that is looked for."""


@dataclass(frozen=True)
class Gain:
    """The rise of the log odds over prompts; `informative` of them have correct and incorrect answers.

    `pooled` is Mantel and Haenszel's log odds ratio, its interval valid whether or not the shifts agree.
    `p_one_shift` tests that they do. If they are normal over prompts, `centre` and `spread` are their mean
    and standard deviation by maximum likelihood, with profile intervals.
    """

    pooled: Estimate
    informative: int
    p_one_shift: float
    centre: float
    spread: Estimate


def gain(pairs: Pairs) -> Gain:
    """The gain in log odds; not known where no prompt has both correct and incorrect answers."""
    total = pairs.base_c + pairs.run_c
    informative = pairs.chosen((total > 0) & (total < pairs.base_n + pairs.run_n))
    if not len(informative):
        nothing = Estimate(0.0, -np.inf, np.inf)
        return Gain(nothing, 0, 1.0, 0.0, Estimate(0.0, 0.0, np.inf))
    centre, spread = shifts(informative)
    return Gain(mantel_haenszel(informative), len(informative), one_shift(informative), centre, spread)


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
