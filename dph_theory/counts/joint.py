"""One law and the prompts: beta and the spread of the base's rates, fitted together."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import optimize

from .estimate import Estimate, from_influence
from .laws import Law
from .mixing import Mixing, fit_weights, likelihood, mixing
from .pairs import Pairs

_FOR_WEIGHTS = 1500
"""Of more distinct prompts so many fit the spread of the base's rates."""
_LEAST, _MOST = float(np.log(1e-2)), float(np.log(1e2))
"""Between these log betas the best is looked for."""
_SCAN, _ROUNDS, _STEPS = 17, 3, 20
_STEP = 0.02
"""Of log beta, for the derivatives of the log likelihood."""
_LEAST_CHANCE = 1e-300
"""Counts that a law gives less chance count as having this one."""


@dataclass(frozen=True, eq=False)
class Joint:
    """Distinct prompts, how often each occurs, and the base's spread of rates to begin with."""

    pairs: Pairs
    counts: np.ndarray
    place: np.ndarray
    spread: Mixing

    @classmethod
    def of(cls, pairs: Pairs) -> "Joint":
        """The prompts, those of equal counts together."""
        columns = np.stack([pairs.base_n, pairs.base_c, pairs.run_n, pairs.run_c])
        key, place, counts = np.unique(columns, axis=1, return_inverse=True, return_counts=True)
        most = int(max(pairs.base_n.max(), pairs.run_n.max()))
        return cls(Pairs(*key), counts, place, mixing(pairs.base_n, pairs.base_c, most))

    @cached_property
    def base(self) -> np.ndarray:
        """The probability of each prompt's base counts at each rate, (rows, grid)."""
        return chances(self.pairs.base_n, self.pairs.base_c, self.spread.rates)

    @cached_property
    def _run(self) -> tuple[np.ndarray, np.ndarray]:
        """The run's different counts (2, U), and which is whose."""
        return np.unique(np.stack([self.pairs.run_n, self.pairs.run_c]), axis=1, return_inverse=True)

    def given(self, after: np.ndarray) -> np.ndarray:
        """The probability of both counts at each base rate, if `after` are the run's rates there."""
        key, place = self._run
        return self.base * likelihood(key[0], key[1], after)[place]

    def some(self, most: int) -> "Joint":
        """At most so many of the distinct prompts, evenly spread through them."""
        which = np.unique(np.linspace(0, len(self.counts) - 1, min(most, len(self.counts))).astype(int))
        return Joint(self.pairs.chosen(which), self.counts[which], which, self.spread)


def chances(n: np.ndarray, c: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """The probability of each count at each rate, each different count computed once."""
    key, place = np.unique(np.stack([n, c]), axis=1, return_inverse=True)
    return likelihood(key[0], key[1], rates)[place]


@dataclass(frozen=True, eq=False)
class Fit:
    """A law at its best beta: `after` are the run's rates at the spread's."""

    law: Law
    spread: Mixing
    after: np.ndarray
    beta: Estimate | None
    dispersion: Estimate


def fitted(law: Law, data: Joint) -> Fit:
    """The law's beta and the spread of the base's rates that make the counts likeliest, in turns.

    The interval of log beta is that of the prompts' scores over the curvature (sandwich), which allows for
    prompts that the law does not describe; the spread of the base's rates counts as known in it.
    """
    weights, log_beta = _best(law, data)
    spread = Mixing(data.spread.rates, weights)
    after = law.rates(spread.rates, float(np.exp(log_beta)))
    inside = _LEAST + 2 * _STEP < log_beta < _MOST - 2 * _STEP and law.has_beta
    beta = _interval(law, data, weights, log_beta) if inside else None
    return Fit(law, spread, after, beta, _dispersion(data, spread, after))


def _best(law: Law, data: Joint) -> tuple[np.ndarray, float]:
    few, weights = data.some(_FOR_WEIGHTS), data.spread.weights
    rates = data.spread.rates

    def misfit(log_beta: float, on: Joint) -> float:
        chance = on.given(law.rates(rates, float(np.exp(log_beta)))) @ weights
        return -float(on.counts @ np.log(np.maximum(chance, _LEAST_CHANCE)))

    if not law.has_beta:
        few_after = few.given(law.rates(rates, 1.0))
        return fit_weights(few_after, weights, few.counts, _ROUNDS * _STEPS), 0.0
    scan = np.linspace(_LEAST, _MOST, _SCAN)
    width = scan[1] - scan[0]
    log_beta = float(min(scan, key=lambda x: misfit(x, few)))
    for turn in range(_ROUNDS + 1):
        if turn:
            after = few.given(law.rates(rates, float(np.exp(log_beta))))
            weights = fit_weights(after, weights, few.counts, _STEPS)
        near = max(_LEAST, log_beta - width), min(_MOST, log_beta + width)
        on = data if turn == _ROUNDS else few
        found = optimize.minimize_scalar(
            misfit, bounds=near, args=(on,), method="bounded", options={"xatol": 2e-3}
        )
        log_beta = float(found.x)
    return weights, log_beta


def _interval(law: Law, data: Joint, weights: np.ndarray, log_beta: float) -> Estimate:
    logs = [
        np.log(
            np.maximum(data.given(law.rates(data.spread.rates, float(np.exp(x)))) @ weights, _LEAST_CHANCE)
        )
        for x in (log_beta - _STEP, log_beta, log_beta + _STEP)
    ]
    curvature = -float(data.counts @ (logs[2] - 2 * logs[1] + logs[0])) / _STEP**2 / len(data.place)
    if curvature <= 0:
        return Estimate(float(np.exp(log_beta)), 0.0, np.inf)
    scores = ((logs[2] - logs[0]) / (2 * _STEP))[data.place]
    found = from_influence(log_beta, scores / curvature)
    return Estimate(*(float(np.exp(x)) for x in (found.value, found.low, found.high)))


def predicted(data: Joint, spread: Mixing, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the variance of the run's correct answers that the base's counts lead to."""
    posterior = data.base * spread.weights
    posterior /= posterior.sum(axis=1, keepdims=True)
    n, mean = data.pairs.run_n, posterior @ after
    scatter = np.maximum(posterior @ after**2 - mean**2, 0.0)
    return n * mean, n * (posterior @ (after * (1 - after))) + n**2 * scatter


def _dispersion(data: Joint, spread: Mixing, after: np.ndarray) -> Estimate:
    """sum (x - E)^2 / sum Var over prompts."""
    mean, variance = predicted(data, spread, after)
    square, variance = ((data.pairs.run_c - mean) ** 2)[data.place], variance[data.place]
    value = float(square.sum() / variance.sum())
    return from_influence(value, (square - value * variance) / variance.mean())
