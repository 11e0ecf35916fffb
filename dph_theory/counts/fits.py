"""Which law of training the prompts obey: beta, predictions for answers held out, and who is off."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtri

from .estimate import MOST_PROMPTS, Estimate, mean_of
from .gain import shifts
from .joint import Fit, Joint, fitted
from .kept import named_by
from .laws import NO_CHANGE, Law, laws
from .mixing import fit_weights, floored_log, likelihood
from .near import Near
from .pairs import Pairs

OWN_SHIFTS = "a shift of its own for each prompt"
_NODES = 15


@dataclass(frozen=True)
class LawFit:
    """A law held to the prompts: the beta it would need (None where none fits), and how well it predicts.

    `held_out` is the mean log probability of the half of each prompt's answers that was held out, in nats
    a prompt, less that of the best line: 0 for the best. `dispersion` is the squared deviation of the run's
    correct answers from those predicted, over the variance predicted: 1 if the law is right.
    """

    law: str
    beta: Estimate | None
    held_out: Estimate
    dispersion: Estimate | None


@dataclass(frozen=True, eq=False)
class Fits:
    """Every law, best first; the prompts that decided; the best law's predicted rates, and who is off it."""

    laws: tuple[LawFit, ...]
    prompts: int
    best: str
    predicted: np.ndarray
    off: np.ndarray


def fits(pairs: Pairs, group_size: int, rng: np.random.Generator) -> Fits:
    """Hold the laws of one decision to the prompts, and rank them by answers held out.

    A law's rates after training are a function of the base's and of beta. The base's rates follow a law over
    prompts that is fitted with beta (`mixing`). Half of each prompt's answers by the run is held out, beta
    is fitted to the rest, and the log probability of the half held out, given all the others of the same
    prompt, tells the laws apart; of more than `MOST_PROMPTS` prompts so many are drawn. "No change" and a
    normal shift of its own for each prompt stand beside them.
    """
    which = np.sort(rng.choice(len(pairs), min(len(pairs), MOST_PROMPTS), replace=False))
    some = pairs.chosen(which)
    known = (*laws(group_size), NO_CHANGE)
    halves = _Halves.of(some, rng)
    scores = {law.name: halves.score(law) for law in known} | {OWN_SHIFTS: halves.score_own_shifts()}
    joint = Joint.of(some)
    found = {law.name: fitted(law, joint) for law in known}
    best = max(scores, key=lambda name: float(scores[name].mean()))
    lines = sorted((_line(name, found.get(name), scores, best) for name in scores), key=_rank)
    first = next(line.law for line in lines if line.law in found)
    rates, off = off_law(found[first], pairs)
    return Fits(tuple(lines), len(some), first, rates, off)


def _line(name: str, fit: Fit | None, scores: Mapping[str, np.ndarray], best: str) -> LawFit:
    held_out = mean_of(scores[name] - scores[best])
    if fit is None:
        return LawFit(name, None, held_out, None)
    return LawFit(name, fit.beta, held_out, fit.dispersion)


def _rank(line: LawFit) -> float:
    return -line.held_out.value


@dataclass(frozen=True, eq=False)
class _Halves:
    """The run's answers in two halves: the first is fitted with the base's answers, the second predicted."""

    fit: Joint
    pairs: Pairs
    rest_n: np.ndarray
    rest_c: np.ndarray

    @classmethod
    def of(cls, pairs: Pairs, rng: np.random.Generator) -> "_Halves":
        n = (pairs.run_n + 1) // 2
        c = rng.hypergeometric(pairs.run_c, pairs.run_n - pairs.run_c, n)
        first = Pairs(pairs.base_n, pairs.base_c, n, c)
        return cls(Joint.of(first), first, pairs.run_n - n, pairs.run_c - c)

    def score(self, law: Law) -> np.ndarray:
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
            near = Near.of(self.pairs, self.fit.spread.rates, rates)
            first += part * (near.given(rates) @ weights)
            both += part * (near.with_more(self.rest_n, self.rest_c).given(rates) @ weights)
        return floored_log(both) - floored_log(first)


def off_law(fit: Fit, pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
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
