"""Stationary policies fitted to counts: the beta each would need, and how well it predicts answers held out.

Each gives the pass rate after training as a function of that before and of beta.
The base's rates have a distribution over prompts (`rates`), which is fitted together with beta. Prompts enter
only through their counts: how many have each count of the base and each count of the run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from scipy import optimize
from scipy.special import expit, ndtri

from ..intervals import Estimate, from_influence, mean_interval
from ..stationary.groups import FARTHEST_LOGIT, group_weight
from ..support.record import Readable
from .counts import PairedCounts
from .rates import RateSpread, fit_weights, floored_log, likelihood, rate_spread

_POINTS = 4001
_GREATEST_PUSH = 600.0
THINNED_TO = 256
"""Of more answers to a prompt so many, drawn at random, decide between the policies."""
_LEAST, _MOST, _SCAN = float(np.log(1e-2)), float(np.log(1e2)), 17
"""Between these log betas the best is looked for, first at so many."""
_ROUNDS, _STEPS = 3, 20
"""Rounds of fitting beta and the spread of rates in turns, each so many steps of expectation-maximisation."""
_STEP = 0.02
"""Step of log beta, for the derivatives of the log likelihood."""
NO_CHANGE, OWN_SHIFTS = "no change", "a shift of its own for each prompt"
_NORMAL = ndtri((np.arange(15) + 0.5) / 15)
"""Equally likely values of a standard normal number."""
_WIDEST = 8.0
"""The largest spread of shifts that is looked for."""

BaseRate = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""(mu, 1-mu, s) -> (A1, 1-A1), the base rate from which mu is stationary: f'(mu/A1) - f'((1-mu)/A0) = s."""


def _reverse(mu: np.ndarray, failed: np.ndarray, push: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The log odds move by s."""
    log_odds = np.log(mu) - np.log(failed) - push
    return expit(log_odds), expit(-log_odds)


def _forward(mu: np.ndarray, failed: np.ndarray, push: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """-A1/mu + A0/(1-mu) = s is linear in A1."""
    return mu * (1 - failed * push), failed * (1 + mu * push)


def _jensen_shannon(mu: np.ndarray, failed: np.ndarray, push: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f'(u) = log 2u/(1+u): mu (A0+1-mu) = e^s (1-mu) (A1+mu) is linear in A1."""
    rise = np.expm1(push)
    total = mu + failed * np.exp(push)
    return mu * (1 - failed * rise) / total, failed * (np.exp(push) + mu * rise) / total


def _half(mu: np.ndarray, failed: np.ndarray, push: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """alpha = 1/2: sqrt(A0/(1-mu)) - sqrt(A1/mu) = s/2, with A1 = sin^2 of an angle."""
    turn, start = np.arccos(np.minimum(push / 2 * np.sqrt(mu * failed), 1)), np.arctan2(failed**0.5, mu**0.5)
    angle = turn - start
    return np.where(angle > 0, np.sin(angle) ** 2, -1.0), np.cos(angle) ** 2


BASE_RATES: Mapping[str, BaseRate] = {
    "reverse KL": _reverse,
    "forward KL": _forward,
    "Jensen-Shannon": _jensen_shannon,
    "alpha 0.5": _half,
}


StationaryRates = Callable[[np.ndarray, float], np.ndarray]
"""(base rates, beta) -> the pass rates that training converges to; base rates 0 and 1 stay."""


def stationary_rates(group_size: int) -> dict[str, StationaryRates]:
    """The stationary policies of one-token answers by name: of each divergence, and of std-normalised

    advantages. They hold of whole answers under a penalty of the sequence too; answers of many tokens under a
    token penalty converge to a lower pass rate. Source: ours, entries `sequence_penalties`,
    `token_penalties`, `group_advantages`.
    """
    sizes = {"not normalised": None, f"std-normalised (groups of {group_size})": group_size}
    return {
        f"{name}, advantages {words}": partial(_rates, name, size)
        for words, size in sizes.items()
        for name in BASE_RATES
    }


@cache
def _weights(group_size: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """logit mu, mu, 1 - mu and alpha_G(mu) on a fine grid; without a group the weight is one."""
    # Denser in the middle, where a step of the log odds is a step of the rate.
    log_odds = FARTHEST_LOGIT * np.sinh(np.linspace(-4, 4, _POINTS)) / np.sinh(4)
    mu, failed = expit(log_odds), expit(-log_odds)
    return log_odds, mu, failed, np.ones(_POINTS) if group_size is None else group_weight(group_size, mu)


def _rates(divergence: str, group_size: int | None, before: np.ndarray, beta: float) -> np.ndarray:
    """The pass rate that a run reaches from its base, by the inverse of the base rate.

    The base rate from which mu is stationary is explicit and lies below mu, so that pass rate rises from a
    base rate to the first mu whose base rate is as high: the inverse of its running maximum, read off on a
    fine grid (to .001 where rates leave zero, else to 1e-5). `stationary.pass_rate_at` and
    `stationary.normalised_pass_rate_at` find the same by roots. Source: ours, entries `sequence_penalties`,
    `group_advantages`.
    """
    log_odds, mu, failed, weight = _weights(group_size)
    base, rest = BASE_RATES[divergence](mu, failed, np.minimum(weight / beta, _GREATEST_PUSH))
    # As angles, in which rates are smooth both near a rate of zero and where it leaves zero.
    angle = np.where(base > 0, np.arctan2(np.sqrt(base.clip(0)), np.sqrt(rest)), -1.0)
    target = np.arctan2(np.sqrt(before), np.sqrt(1 - before))
    reached = np.interp(target, np.maximum.accumulate(angle), log_odds)
    return np.where((before > 0) & (before < 1), expit(reached), before)


@dataclass(frozen=True, eq=False, repr=False)
class JointCounts(Readable):
    """How many prompts have each count of the base and each of the run, (base counts, run counts).

    `base` is the probability of each count of the base at each rate of the spread; `place` has each prompt's
    row and column.
    """

    spread: RateSpread
    base: np.ndarray
    run: np.ndarray
    prompts: np.ndarray
    place: tuple[np.ndarray, np.ndarray]

    @classmethod
    def from_pairs(cls, pairs: PairedCounts) -> "JointCounts":
        """The prompts counted, and the base's spread of rates to begin with."""
        spread = rate_spread(pairs.base_n, pairs.base_c, int(pairs.run_n.max()))
        (base, rows), (run, columns) = (
            np.unique(np.stack(side), axis=1, return_inverse=True)
            for side in ((pairs.base_n, pairs.base_c), (pairs.run_n, pairs.run_c))
        )
        prompts = np.zeros((base.shape[1], run.shape[1]))
        np.add.at(prompts, (rows, columns), 1)
        return cls(spread, likelihood(base[0], base[1], spread.rates), run, prompts, (rows, columns))

    def run_likelihood(self, after: np.ndarray) -> np.ndarray:
        """The probability of each count of the run, if its rates at the grid's are these; (run counts, grid).

        Of several rows of rates each is as likely.
        """
        rows = np.atleast_2d(after)
        n, c = self.run
        return np.asarray(likelihood(n, c, rows.ravel()).reshape(-1, *rows.shape).mean(axis=1))

    def log_chance(self, after: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The log probability of each pair of counts, (base counts, run counts)."""
        return floored_log((self.base * weights) @ self.run_likelihood(after).T)

    def misfit(self, after: np.ndarray, weights: np.ndarray) -> float:
        """Less the log likelihood of all counts."""
        return -float((self.prompts * self.log_chance(after, weights)).sum())

    def fitted_weights(self, after: np.ndarray, weights: np.ndarray, steps: int = _STEPS) -> np.ndarray:
        """The weights of the base's rates after so many steps of expectation-maximisation."""
        return fit_weights(self.base, self.prompts, weights, steps, self.run_likelihood(after))


class Fit(NamedTuple):
    """A policy at its best: the run's rates at the grid's, the base's weights, beta if within the scan."""

    after: np.ndarray
    weights: np.ndarray
    log_beta: float | None = None


def fitted_policy(rates_at: StationaryRates, data: JointCounts, near: float | None = None) -> Fit:
    """The policy's beta, by a scan or near a log beta, and the spread of rates, likeliest in turns."""
    weights = data.spread.weights

    def after(log_beta: float) -> np.ndarray:
        return rates_at(data.spread.rates, float(np.exp(log_beta)))

    def misfit(log_beta: float) -> float:
        return data.misfit(after(log_beta), weights)

    scan = np.linspace(_LEAST, _MOST, _SCAN)
    width, log_beta = scan[1] - scan[0], float(min(scan, key=misfit)) if near is None else near
    for turn in range(_ROUNDS + 1):
        if turn:
            weights = data.fitted_weights(after(log_beta), weights)
        bounds = max(_LEAST, log_beta - width), min(_MOST, log_beta + width)
        minimum = optimize.minimize_scalar(misfit, bounds=bounds, method="bounded", options={"xatol": 2e-3})
        log_beta = float(minimum.x)
    inside = _LEAST + 2 * _STEP < log_beta < _MOST - 2 * _STEP
    return Fit(after(log_beta), weights, log_beta if inside else None)


def unchanged(data: JointCounts) -> Fit:
    """What every policy is compared with: the run has the base's rates."""
    rates = data.spread.rates
    return Fit(rates, data.fitted_weights(rates, data.spread.weights, _ROUNDS * _STEPS))


def own_shifts(data: JointCounts) -> Fit:
    """Each prompt's log odds moved by a normal shift of its own, at the likeliest mean and deviation."""
    rates, weights = data.spread.rates, data.spread.weights

    def after(x: np.ndarray) -> np.ndarray:
        return _shifted(rates, x[0] + min(abs(x[1]), _WIDEST) * _NORMAL)

    def misfit(x: np.ndarray, weights: np.ndarray) -> float:
        return data.misfit(after(x), weights)

    x = np.array([0.0, 0.5])
    for _ in range(2):
        x = optimize.minimize(misfit, x, (weights,), "Nelder-Mead", options={"xatol": 0.01}).x
        weights = data.fitted_weights(after(x), weights)
    return Fit(after(x), weights)


def _shifted(rates: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Rates (grid,) whose log odds are moved by shifts (shifts,): (shifts, grid)."""
    with np.errstate(divide="ignore"):
        return np.asarray(expit(np.log(rates) - np.log1p(-rates) + shifts[:, None]))


def fitted_beta(rates_at: StationaryRates, data: JointCounts, near: float | None = None) -> Estimate | None:
    """The fitted beta; None at the ends of those looked for.

    The interval of log beta is that of the prompts' scores over the curvature (sandwich), which allows for
    prompts that the policy does not describe; the spread of the base's rates counts as known in it.
    """
    _, weights, log_beta = fitted_policy(rates_at, data, near)
    if log_beta is None:
        return None
    below, at, above = (
        data.log_chance(rates_at(data.spread.rates, float(np.exp(log_beta + move))), weights)
        for move in (-_STEP, 0, _STEP)
    )
    curvature = -float((data.prompts * (above - 2 * at + below)).sum()) / _STEP**2 / len(data.place[0])
    if curvature <= 0:
        return Estimate(float(np.exp(log_beta)), 0.0, np.inf)
    log_estimate = from_influence(log_beta, ((above - below) / (2 * _STEP))[data.place] / curvature)
    return Estimate(*(float(np.exp(x)) for x in (log_estimate.value, log_estimate.low, log_estimate.high)))


@dataclass(frozen=True, repr=False)
class PolicyScore(Readable):
    """A policy fitted to the prompts: the beta it would need, None if none does, and how well it predicts.

    `held_out` is the mean log probability of the half of each prompt's answers that was held out, in nats
    a prompt, less that of the best line: 0 for the best.
    """

    policy: str
    beta: Estimate | None
    held_out: Estimate

    @property
    def rejected(self) -> bool:
        """True if another line predicts better, with 95% confidence."""
        return self.held_out.high < 0


def policy_scores(pairs: PairedCounts, group_size: int, rng: np.random.Generator) -> tuple[PolicyScore, ...]:
    """Every policy of one-token answers, "no change" and a normal shift a prompt, the best first.

    Half of each prompt's answers by the run is held out, beta and the spread of the base's rates are fitted
    to the rest, and the log probability of the half held out, given all the others of the same prompt,
    ranks them.
    """
    pairs = pairs.thinned_to(THINNED_TO, rng)
    half = (pairs.run_n + 1) // 2
    half_pairs = PairedCounts(
        pairs.base_n, pairs.base_c, half, rng.hypergeometric(pairs.run_c, pairs.run_n - pairs.run_c, half)
    )
    half_counts, all_counts = JointCounts.from_pairs(half_pairs), JointCounts.from_pairs(pairs)

    def score(fit: Fit) -> np.ndarray:
        # How many orders of the answers have these counts is the same for all policies, and left out.
        both, one = (data.log_chance(fit.after, fit.weights) for data in (all_counts, half_counts))
        return np.asarray(both[all_counts.place] - one[half_counts.place])

    policies = stationary_rates(group_size)
    fits = {name: fitted_policy(rates_at, half_counts) for name, rates_at in policies.items()}
    scores = {name: score(fit) for name, fit in fits.items()}
    scores |= {NO_CHANGE: score(unchanged(half_counts)), OWN_SHIFTS: score(own_shifts(half_counts))}
    best = max(scores, key=lambda name: float(scores[name].mean()))
    betas = {name: fitted_beta(policies[name], all_counts, fit.log_beta) for name, fit in fits.items()}
    lines = [
        PolicyScore(name, betas.get(name), mean_interval(x - scores[best])) for name, x in scores.items()
    ]
    return tuple(sorted(lines, key=lambda line: -line.held_out.value))
