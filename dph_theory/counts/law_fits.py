"""The laws of training held to counts: the beta each would need, how well it predicts, and who is off it.

A law gives the pass rate after training as a function of that before and of beta. The base's rates follow a
law over prompts (`rates`), which is fitted together with beta.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from types import MappingProxyType

import numpy as np
from scipy import optimize
from scipy.special import expit, ndtri

from ..intervals import Estimate, from_influence, mean_of
from ..laws.groups import FARTHEST_LOGIT, group_weight
from ..support.record import readable
from .pairs import Pairs
from .prompts import MOST_PROMPTS, named_by, shifts
from .rates import PossibleRates, RateSpread, fit_weights, floored_log, likelihood, rate_spread

_POINTS = 4001
_GREATEST_PUSH = 600.0
_FOR_WEIGHTS, _FOR_SCAN = 1500, 400
"""Of more distinct prompts so many fit the spread of the base's rates, and find where beta is looked for."""
_LEAST, _MOST = float(np.log(1e-2)), float(np.log(1e2))
"""Between these log betas the best is looked for."""
_SCAN, _ROUNDS, _STEPS = 17, 3, 20
_STEP = 0.02
"""Of log beta, for the derivatives of the log likelihood."""
OWN_SHIFTS = "a shift of its own for each prompt"
_NODES = 15

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
    angle = np.arccos(np.minimum(push / 2 * np.sqrt(mu * failed), 1)) - np.arctan2(
        np.sqrt(failed), np.sqrt(mu)
    )
    return np.where(angle > 0, np.sin(angle) ** 2, -1.0), np.cos(angle) ** 2


BASE_RATES: Mapping[str, BaseRate] = MappingProxyType(
    {"reverse KL": _reverse, "forward KL": _forward, "Jensen-Shannon": _jensen_shannon, "alpha 0.5": _half}
)


@dataclass(frozen=True)
class TrainingLaw:
    """A law by name: `rates(before, beta)` are the pass rates it leads to; base rates 0 and 1 stay."""

    name: str
    rates: Callable[[np.ndarray, float], np.ndarray]
    has_beta: bool = True


NO_CHANGE = TrainingLaw("no change", lambda before, beta: before, has_beta=False)
"""What every law is held against: the run has the base's rates."""


def laws(group_size: int) -> tuple[TrainingLaw, ...]:
    """The laws of one decision: of each divergence, E1 and E2 (in which they agree), and E4.

    E4 is for advantages divided by the deviation of a group. Of whole answers under a penalty of the sequence
    they hold too; answers of many tokens under a token penalty end less valid (theory E2).
    """
    plain = (
        TrainingLaw(f"{name}, advantages not divided", partial(_rates, name, None)) for name in BASE_RATES
    )
    words = f"advantages divided (groups of {group_size})"
    divided = (TrainingLaw(f"{name}, {words}", partial(_rates, name, group_size)) for name in BASE_RATES)
    return *plain, *divided


@cache
def _weights(group_size: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """logit mu, mu, 1 - mu and alpha_G(mu) on a fine grid; without a group the weight is one."""
    # Denser in the middle, where a step of the log odds is a step of the rate.
    log_odds = FARTHEST_LOGIT * np.sinh(np.linspace(-4, 4, _POINTS)) / np.sinh(4)
    mu, failed = expit(log_odds), expit(-log_odds)
    return log_odds, mu, failed, np.ones(_POINTS) if group_size is None else group_weight(group_size, mu)


def _rates(divergence: str, group_size: int | None, before: np.ndarray, beta: float) -> np.ndarray:
    """The validity that a run reaches from its base, by the inverse law.

    The base rate from which mu is stationary is explicit and lies below mu, so that validity rises from a
    base rate to the first mu whose base rate is as high: the inverse of its running maximum, read off on a
    fine grid (to .001 where the law leaves zero, else to 1e-5). `laws.validity_at` and
    `laws.normalised_validity_at` find the same by roots. Source: ours, theory E1 and E4.
    """
    log_odds, mu, failed, weight = _weights(group_size)
    base, rest = BASE_RATES[divergence](mu, failed, np.minimum(weight / beta, _GREATEST_PUSH))
    # As angles, in which the law is smooth both near a rate of zero and where it leaves zero.
    angle = np.where(base > 0, np.arctan2(np.sqrt(base.clip(0)), np.sqrt(rest)), -1.0)
    wanted = np.arctan2(np.sqrt(before), np.sqrt(1 - before))
    reached = np.interp(wanted, np.maximum.accumulate(angle), log_odds)
    return np.where((before > 0) & (before < 1), expit(reached), before)


@dataclass(frozen=True, eq=False)
class DistinctPrompts:
    """Distinct prompts, how often each occurs, and the base's spread of rates to begin with."""

    __repr__ = readable

    pairs: Pairs
    counts: np.ndarray
    place: np.ndarray
    spread: RateSpread

    @classmethod
    def of(cls, pairs: Pairs) -> "DistinctPrompts":
        """The prompts, those of equal counts together."""
        columns = np.stack([pairs.base_n, pairs.base_c, pairs.run_n, pairs.run_c])
        key, place, counts = np.unique(columns, axis=1, return_inverse=True, return_counts=True)
        most = int(max(pairs.base_n.max(), pairs.run_n.max()))
        return cls(Pairs(*key), counts, place, rate_spread(pairs.base_n, pairs.base_c, most))

    @cached_property
    def base(self) -> tuple[np.ndarray, np.ndarray]:
        """The probability of each different base count at each rate, (counts, grid), and which is whose."""
        columns = np.stack([self.pairs.base_n, self.pairs.base_c])
        key, place = np.unique(columns, axis=1, return_inverse=True)
        return likelihood(key[0], key[1], self.spread.rates), place

    def near(self, after: np.ndarray) -> PossibleRates:
        """The rates that both counts leave possible, if `after` are roughly the run's rates at the grid's."""
        return PossibleRates.of(self.pairs, self.spread.rates, after)

    @cached_property
    def few(self) -> "DistinctPrompts":
        """The distinct prompts that fit the spread of the base's rates."""
        return self.some(_FOR_WEIGHTS)

    def some(self, most: int) -> "DistinctPrompts":
        """At most so many of the distinct prompts, evenly spread through them."""
        which = np.unique(np.linspace(0, len(self.counts) - 1, min(most, len(self.counts))).astype(int))
        return DistinctPrompts(self.pairs.chosen(which), self.counts[which], which, self.spread)


@dataclass(frozen=True, eq=False)
class FittedLaw:
    """A law at its best beta: `after` are the run's rates at the spread's."""

    __repr__ = readable

    law: TrainingLaw
    spread: RateSpread
    after: np.ndarray
    beta: Estimate | None
    dispersion: Estimate


def fitted(law: TrainingLaw, data: DistinctPrompts) -> FittedLaw:
    """The law's beta and the spread of the base's rates that make the counts likeliest, in turns.

    The interval of log beta is that of the prompts' scores over the curvature (sandwich), which allows for
    prompts that the law does not describe; the spread of the base's rates counts as known in it.
    """
    weights, log_beta = _best(law, data)
    spread = RateSpread(data.spread.rates, weights)
    after = law.rates(spread.rates, float(np.exp(log_beta)))
    inside = _LEAST + 2 * _STEP < log_beta < _MOST - 2 * _STEP and law.has_beta
    beta = _interval(law, data, weights, log_beta) if inside else None
    return FittedLaw(law, spread, after, beta, _dispersion(data, spread, after))


def _best(law: TrainingLaw, data: DistinctPrompts) -> tuple[np.ndarray, float]:
    few, weights = data.few, data.spread.weights

    def after(log_beta: float) -> np.ndarray:
        return law.rates(data.spread.rates, float(np.exp(log_beta)))

    def misfit(log_beta: float, on: DistinctPrompts, near: PossibleRates) -> float:
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


def _interval(law: TrainingLaw, data: DistinctPrompts, weights: np.ndarray, log_beta: float) -> Estimate:
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


def predicted(data: DistinctPrompts, spread: RateSpread, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the variance of the run's correct answers that the base's counts lead to."""
    chance, place = data.base
    posterior = spread.given(chance)
    mean, square = ((posterior @ moment)[place] for moment in (after, after**2))
    n, scatter = data.pairs.run_n, np.maximum(square - mean**2, 0.0)
    return n * mean, n * (mean - square) + n**2 * scatter


def _dispersion(data: DistinctPrompts, spread: RateSpread, after: np.ndarray) -> Estimate:
    """sum (x - E)^2 / sum Var over prompts."""
    mean, variance = predicted(data, spread, after)
    square, variance = ((data.pairs.run_c - mean) ** 2)[data.place], variance[data.place]
    value = float(square.sum() / variance.sum())
    return from_influence(value, (square - value * variance) / variance.mean())


@dataclass(frozen=True)
class LawScore:
    """A law held to the prompts: the beta it would need (None where none is told), and how well it predicts.

    `held_out` is the mean log probability of the half of each prompt's answers that was held out, in nats
    a prompt, less that of the best line: 0 for the best. `dispersion` is the squared deviation of the run's
    correct answers from those predicted, over the variance predicted: 1 if the law is right.
    """

    __repr__ = readable

    law: str
    beta: Estimate | None
    held_out: Estimate
    dispersion: Estimate | None

    @property
    def rejected(self) -> bool:
        """Whether another line predicts better, or answers vary more than it says, with 95% confidence."""
        return self.held_out.high < 0 or (self.dispersion is not None and self.dispersion.low > 1)


@dataclass(frozen=True, eq=False)
class LawRanking:
    """Every law, best first; the prompts that decided; the best law's predicted rates, and who is off it."""

    laws: tuple[LawScore, ...]
    prompts: int
    best: str
    predicted: np.ndarray
    off: np.ndarray


def ranked_laws(pairs: Pairs, group_size: int, rng: np.random.Generator) -> LawRanking:
    """Hold the laws of one decision to the prompts, and rank them by answers held out.

    A law's rates after training are a function of the base's and of beta. The base's rates follow a law over
    prompts that is fitted with beta (`rates`). Half of each prompt's answers by the run is held out, beta
    is fitted to the rest, and the log probability of the half held out, given all the others of the same
    prompt, tells the laws apart; of more than `MOST_PROMPTS` prompts so many are drawn. "No change" and a
    normal shift of its own for each prompt stand beside them.
    """
    which = np.sort(rng.choice(len(pairs), min(len(pairs), MOST_PROMPTS), replace=False))
    some = pairs.chosen(which)
    known = (*laws(group_size), NO_CHANGE)
    # A base that always or never succeeds says nothing of its rates, and so nothing of beta.
    told = bool(0 < pairs.base_c.sum() < pairs.base_n.sum())
    halves = _Halves.of(some, rng)
    scores = {law.name: halves.score(law) for law in known} | {OWN_SHIFTS: halves.score_own_shifts()}
    joint = DistinctPrompts.of(some)
    found = {law.name: fitted(law, joint) for law in known}
    best = max(scores, key=lambda name: float(scores[name].mean()))
    lines = sorted((_line(name, found.get(name), scores, best, told) for name in scores), key=_rank)
    first = next(line.law for line in lines if line.law in found)
    rates, off = off_law(found[first], pairs)
    return LawRanking(tuple(lines), len(some), first, rates, off)


def _line(
    name: str, fit: FittedLaw | None, scores: Mapping[str, np.ndarray], best: str, told: bool
) -> LawScore:
    held_out = mean_of(scores[name] - scores[best])
    if fit is None:
        return LawScore(name, None, held_out, None)
    return LawScore(name, fit.beta if told else None, held_out, fit.dispersion)


def _rank(line: LawScore) -> float:
    return -line.held_out.value


@dataclass(frozen=True, eq=False)
class _Halves:
    """The run's answers in two halves: the first is fitted with the base's answers, the second predicted."""

    fit: DistinctPrompts
    pairs: Pairs
    rest_n: np.ndarray
    rest_c: np.ndarray

    @classmethod
    def of(cls, pairs: Pairs, rng: np.random.Generator) -> "_Halves":
        n = (pairs.run_n + 1) // 2
        c = rng.hypergeometric(pairs.run_c, pairs.run_n - pairs.run_c, n)
        first = Pairs(pairs.base_n, pairs.base_c, n, c)
        return cls(DistinctPrompts.of(first), first, pairs.run_n - n, pairs.run_c - c)

    def score(self, law: TrainingLaw) -> np.ndarray:
        """log P(second half | base, first half) of each prompt, (prompts,)."""
        fit = fitted(law, self.fit)
        return self._score([fit.after], np.ones(1), fit.spread.weights)

    def score_own_shifts(self) -> np.ndarray:
        """The same if each prompt's shift is normal, its mean and spread fitted to the first half."""
        total = self.pairs.base_c + self.pairs.run_c
        mixed = (total > 0) & (total < self.pairs.base_n + self.pairs.run_n)
        centre, spread = shifts(self.pairs.chosen(mixed)) if mixed.any() else (0.0, Estimate(0, 0, 0))
        moved = centre + spread.value * ndtri((np.arange(_NODES) + 0.5) / _NODES)
        rates = self.fit.spread.rates
        with np.errstate(divide="ignore"):
            log_odds = np.log(rates) - np.log1p(-rates)
        after = [expit(log_odds + shift) for shift in moved]
        few = self.fit.some(1000)
        chance = np.mean([few.near(rate).given(rate).toarray() for rate in after], axis=0)
        weights = fit_weights(chance, self.fit.spread.weights, few.counts, 60)
        return self._score(after, np.full(_NODES, 1 / _NODES), weights)

    def _score(self, after: list[np.ndarray], share: np.ndarray, weights: np.ndarray) -> np.ndarray:
        first, both = np.zeros(len(self.pairs)), np.zeros(len(self.pairs))
        for rates, part in zip(after, share, strict=True):
            near = PossibleRates.of(self.pairs, self.fit.spread.rates, rates)
            first += part * (near.given(rates) @ weights)
            both += part * (near.with_more(self.rest_n, self.rest_c).given(rates) @ weights)
        return floored_log(both) - floored_log(first)


def off_law(fit: FittedLaw, pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """Each prompt's predicted rate (prompts,), and the places of those whose counts the law does not explain.

    The p-value is twice the smaller tail of the run's counts given the base's; of the prompts named, a
    twentieth is expected to be wrong (Benjamini and Hochberg), the law and its beta counting as known.
    """
    rates, p_values = np.empty(len(pairs)), np.empty(len(pairs))
    for n in np.unique(pairs.run_n):
        members = np.flatnonzero(pairs.run_n == n)
        chance = likelihood(np.full(n + 1, n), np.arange(n + 1), fit.after)
        key, place = np.unique(
            np.stack([pairs.base_n[members], pairs.base_c[members]]), axis=1, return_inverse=True
        )
        posterior = fit.spread.given(likelihood(key[0], key[1], fit.spread.rates))
        rates[members] = (posterior @ fit.after)[place]
        law = posterior @ chance.T
        upto, c = np.cumsum(law, axis=1), pairs.run_c[members]
        below, beyond = upto[place, c], 1 - upto[place, c] + law[place, c]
        p_values[members] = np.minimum(1.0, 2 * np.minimum(below, beyond))
    return rates, named_by(p_values)
