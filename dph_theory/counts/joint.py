"""One law and the prompts: beta and the spread of the base's rates, fitted together."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import optimize

from .estimate import Estimate, from_influence
from .laws import Law
from .mixing import Mixing, fit_weights, floored_log, likelihood, mixing
from .near import Near
from .pairs import Pairs

_FOR_WEIGHTS, _FOR_SCAN = 1500, 400
"""Of more distinct prompts so many fit the spread of the base's rates, and find where beta is looked for."""
_LEAST, _MOST = float(np.log(1e-2)), float(np.log(1e2))
"""Between these log betas the best is looked for."""
_SCAN, _ROUNDS, _STEPS = 17, 3, 20
_STEP = 0.02
"""Of log beta, for the derivatives of the log likelihood."""


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
    def base(self) -> tuple[np.ndarray, np.ndarray]:
        """The probability of each different base count at each rate, (counts, grid), and which is whose."""
        columns = np.stack([self.pairs.base_n, self.pairs.base_c])
        key, place = np.unique(columns, axis=1, return_inverse=True)
        return likelihood(key[0], key[1], self.spread.rates), place

    def near(self, after: np.ndarray) -> Near:
        """The rates that both counts leave possible, if `after` are roughly the run's rates at the grid's."""
        return Near.of(self.pairs, self.spread.rates, after)

    @cached_property
    def few(self) -> "Joint":
        """The distinct prompts that fit the spread of the base's rates."""
        return self.some(_FOR_WEIGHTS)

    def some(self, most: int) -> "Joint":
        """At most so many of the distinct prompts, evenly spread through them."""
        which = np.unique(np.linspace(0, len(self.counts) - 1, min(most, len(self.counts))).astype(int))
        return Joint(self.pairs.chosen(which), self.counts[which], which, self.spread)


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
    few, weights = data.few, data.spread.weights

    def after(log_beta: float) -> np.ndarray:
        return law.rates(data.spread.rates, float(np.exp(log_beta)))

    def misfit(log_beta: float, on: Joint, near: Near) -> float:
        return -float(on.counts @ floored_log(near.given(after(log_beta)) @ weights))

    if not law.has_beta:
        same = few.near(after(0.0)).given(after(0.0))
        return fit_weights(same, weights, few.counts, _ROUNDS * _STEPS), 0.0
    scan = np.linspace(_LEAST, _MOST, _SCAN)
    width = scan[1] - scan[0]
    rough = few.some(_FOR_SCAN)
    log_beta = float(min(scan, key=lambda x: misfit(x, rough, rough.near(after(x)))))
    for turn in range(_ROUNDS + 1):
        now = after(log_beta)
        if turn:
            weights = fit_weights(few.near(now).given(now), weights, few.counts, _STEPS)
        on = data if turn == _ROUNDS else few
        near = on.near(now)
        bounds = max(_LEAST, log_beta - width), min(_MOST, log_beta + width)
        found = optimize.minimize_scalar(
            misfit, bounds=bounds, args=(on, near), method="bounded", options={"xatol": 2e-3}
        )
        log_beta = float(found.x)
    return weights, log_beta


def _interval(law: Law, data: Joint, weights: np.ndarray, log_beta: float) -> Estimate:
    steps = [
        law.rates(data.spread.rates, float(np.exp(x))) for x in (log_beta - _STEP, log_beta, log_beta + _STEP)
    ]
    near = data.near(steps[1])
    logs = [floored_log(near.given(after) @ weights) for after in steps]
    curvature = -float(data.counts @ (logs[2] - 2 * logs[1] + logs[0])) / _STEP**2 / len(data.place)
    if curvature <= 0:
        return Estimate(float(np.exp(log_beta)), 0.0, np.inf)
    scores = ((logs[2] - logs[0]) / (2 * _STEP))[data.place]
    found = from_influence(log_beta, scores / curvature)
    return Estimate(*(float(np.exp(x)) for x in (found.value, found.low, found.high)))


def predicted(data: Joint, spread: Mixing, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the variance of the run's correct answers that the base's counts lead to."""
    chance, place = data.base
    posterior = spread.given(chance)
    mean, square = ((posterior @ moment)[place] for moment in (after, after**2))
    n, scatter = data.pairs.run_n, np.maximum(square - mean**2, 0.0)
    return n * mean, n * (mean - square) + n**2 * scatter


def _dispersion(data: Joint, spread: Mixing, after: np.ndarray) -> Estimate:
    """sum (x - E)^2 / sum Var over prompts."""
    mean, variance = predicted(data, spread, after)
    square, variance = ((data.pairs.run_c - mean) ** 2)[data.place], variance[data.place]
    value = float(square.sum() / variance.sum())
    return from_influence(value, (square - value * variance) / variance.mean())
