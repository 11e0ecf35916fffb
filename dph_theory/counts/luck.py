"""The null of luck: how many prompts a run would have lost by the drift of sampling alone."""

from dataclasses import dataclass

import numpy as np
from scipy import optimize
from scipy.special import expit, ndtri

from ..support.errors import argument_error
from ..support.record import readable
from .pairs import Pairs
from .rates import RateSpread, likelihood, rate_spread

_NODES = 41
RIGHT, WRONG = 2, 8
"""Equally likely right and wrong answers of the decision that drifts, as `dph predict` has them."""


@dataclass(frozen=True)
class Luck:
    """Prompts lost if each prompt's log odds moved by one shift and by drift, and by nothing else.

    `deviation` is that of the log ratio of two right answers over seeds; `lost` prompts are expected, `seen`
    were lost (at equal numbers of answers), which `p_value` of such runs reach or exceed. The deviation is of
    first order in the noise: `too_large` is the share by which it may be too large.
    """

    __repr__ = readable

    step: float
    answers: int
    deviation: float
    too_large: float
    lost: float
    seen: int
    p_value: float


def luck(pairs: Pairs, step: float, answers: int, rng: np.random.Generator, *, draws: int = 400) -> Luck:
    """How many prompts drift would lose on the way from the base's mean pass rate to the run's.

    The deviation is `drift_deviation` of a decision with RIGHT right and WRONG wrong answers between the two
    mean pass rates, for a run without a KL. A prompt with rate p (`rate_spread`) has after training the log
    odds logit p + shift + deviation x, x standard normal; the one shift gives the run's mean rate. The
    p-value is by `draws` pairs of counts drawn from this null and fitted anew, and compares the ratio of lost
    prompts to expected ones, whose law hardly depends on the fit; how often drift alone has a small one is
    measured in `benchmarks/intervals.py`. Parameters: `step` in logits, `answers` a step. Raises ValueError
    for numbers out of range, or a run that has not risen. Source: ours, theory G3.
    """
    from ..dynamics.drift import drift_deviation, saturation  # Loads sympy, which nothing else here needs.

    pairs = pairs.thinned(rng)
    before, after = (float(np.mean(c)) for c in (pairs.base_c / pairs.base_n, pairs.run_c / pairs.run_n))
    if not 0 < before < after < 1:
        allowed = "above the base's, both between 0 and 1: the drift is that of a rise"
        raise argument_error("the run's mean pass rate", round(after, 4), allowed)
    deviation = float(drift_deviation(before, after, valid=RIGHT, invalid=WRONG, step=step, answers=answers))
    spread, shift, lost = _null(pairs, deviation)
    seen = _lost(pairs)
    ratio, beyond = _ratio(seen, lost), 0
    for _ in range(draws):
        rates = rng.choice(spread.rates, len(pairs), p=spread.weights)
        moved = expit(_log_odds(rates) + shift + deviation * rng.standard_normal(len(pairs)))
        n = pairs.base_n
        drawn = Pairs(n, rng.binomial(n, rates), n, rng.binomial(n, moved))
        beyond += _ratio(_lost(drawn), _null(drawn, deviation)[2]) >= ratio
    p_value = (1 + beyond) / (1 + draws)
    return Luck(step, answers, deviation, float(saturation(deviation)), lost, seen, p_value)


def _lost(pairs: Pairs) -> int:
    return int(((pairs.base_c > 0) & (pairs.run_c == 0)).sum())


def _ratio(seen: int, lost: float) -> float:
    return (seen + 0.5) / (lost + 0.5)


def _log_odds(rates: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(rates) - np.log1p(-rates)


def _null(pairs: Pairs, deviation: float) -> tuple[RateSpread, float, float]:
    """The base's rates, the one shift, and how many prompts that the base solves would be lost."""
    spread = rate_spread(pairs.base_n, pairs.base_c)
    key, often = np.unique(np.stack([pairs.base_n, pairs.base_c]), axis=1, return_counts=True)
    law = spread.given(likelihood(key[0], key[1], spread.rates))
    moved = _log_odds(spread.rates)[:, None] + deviation * ndtri((np.arange(_NODES) + 0.5) / _NODES)
    after = float(np.mean(pairs.run_c / pairs.run_n))

    def above(shift: float) -> float:
        return float(often @ (law @ expit(moved + shift).mean(axis=1)) / len(pairs)) - after

    # A run that solves everything, or nothing, has a shift at the end of these.
    ends = -50.0, 50.0
    inside = above(ends[0]) < 0 < above(ends[1])
    shift = float(optimize.brentq(above, *ends)) if inside else ends[int(after > 0.5)]
    missed = expit(-moved - shift)
    chance = np.array([row @ (missed**n).mean(axis=1) for row, n in zip(law, key[0], strict=True)])
    return spread, shift, float(often[key[1] > 0] @ chance[key[1] > 0])
