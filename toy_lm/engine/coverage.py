"""Coverage: the mass of the filtered model on words that a policy still says, by exact branch and bound."""

import math

import numpy as np

from dph_theory.support.errors import argument_error

from . import semiring
from .automaton import ValidityAutomaton
from .log_weights import Powers
from .markov import MarkovLM, agreed_length, next_contexts, single

SAME = 1e-9
"""Log-ratios of prefixes that differ by less count as equal when prefixes are merged."""


def coverage(
    policy: MarkovLM,
    base: MarkovLM,
    automaton: ValidityAutomaton,
    length: int,
    *,
    fraction: float = 0.5,
    at_most: int = 2**20,
) -> float:
    """p_*{y : pi(y | Y1) >= fraction p_*(y)}: p_*'s mass on words that the policy, once valid, still says.

    1 for the base and all its filtered and tilted models, whatever their validity; 0 for a policy without
    valid words. Prefixes are extended until the least or the greatest ratio of their continuations decides;
    those of equal (state, context, ratio) are merged, so that few remain where ratios repeat, as in a
    homogeneous model. Raises ValueError if more than `at_most` stay undecided at once, for a fraction not
    above 0, for batches, or if the base gives no valid word mass. Source: ours.
    """
    if not 0 < fraction < math.inf:
        raise argument_error("fraction", fraction, "a finite number above 0")
    length = agreed_length(length, single("policy", policy), single("base", base))
    order = max(policy.order, base.order)
    policy, base = policy.lifted(order), base.lifted(order)
    final = semiring.log_accepting(automaton)
    log_mu, log_rate = (float(semiring.log_mass(m, automaton, length, final)) for m in (policy, base))
    if log_rate == -math.inf:
        raise argument_error("base", base, "some valid word of this length must have positive probability")
    if log_mu == -math.inf:
        return 0.0
    search = _CoverageSearch(policy, base, automaton, length)
    return search.covered(math.log(fraction) + log_mu - log_rate, at_most, log_rate)


class _CoverageSearch:
    """Extends the prefixes of valid words that both models give mass, sorting them by log pi/a."""

    def __init__(self, policy: MarkovLM, base: MarkovLM, automaton: ValidityAutomaton, length: int) -> None:
        self.automaton, self.length = automaton, length
        final = semiring.log_accepting(automaton)

        def arrays(weights: Powers, product: object = None) -> list[np.ndarray]:
            found = semiring.messages(weights, automaton, length, final, product)  # type: ignore[arg-type]
            return [table.detach().numpy() for table in found]

        ratio, mass = Powers((policy, base), (1.0, -1.0)), Powers((base, policy), (1.0, 0.0))
        self.ratio, self.mass = (
            [w.log_step(t).detach().numpy() for t in range(length)] for w in (ratio, mass)
        )
        self.greatest = arrays(ratio, semiring.maximum)
        self.least = [-table for table in arrays(Powers((policy, base), (-1.0, 1.0)), semiring.maximum)]
        self.finish = arrays(mass)

    def covered(self, threshold: float, at_most: int, log_rate: float) -> float:
        """p_*'s mass of the words with log pi/a at or above the threshold."""
        V = self.automaton.symbols
        state, context = np.array([self.automaton.initial]), np.array([0])
        ratio, log_mass, total = np.zeros(1), np.full(1, -log_rate), 0.0
        for t in range(self.length):
            ratio = (ratio[:, None] + self.ratio[t][context]).ravel()
            log_mass = (log_mass[:, None] + self.mass[t][context]).ravel()
            state = self.automaton.transitions[state].ravel()
            context = next_contexts(context, V, self.greatest[t + 1].shape[-1]).ravel()
            possible = (log_mass > -np.inf) & (self.finish[t + 1][state, context] > -np.inf)
            state, context, ratio, log_mass = (x[possible] for x in (state, context, ratio, log_mass))
            inside = ratio + self.least[t + 1][state, context] >= threshold
            total += np.exp(log_mass + self.finish[t + 1][state, context])[inside].sum()
            open_ = ~inside & (ratio + self.greatest[t + 1][state, context] >= threshold)
            state, context, ratio, log_mass = _merged(*(x[open_] for x in (state, context, ratio, log_mass)))
            if len(state) > at_most:
                raise argument_error(
                    "at_most", at_most, f"{len(state)} prefixes of length {t + 1} are undecided"
                )
        return float(total)


def _merged(
    state: np.ndarray, context: np.ndarray, ratio: np.ndarray, log_mass: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Prefixes with the same future, together with their mass."""
    order = np.lexsort((ratio, context, state))
    state, context, ratio, log_mass = (x[order] for x in (state, context, ratio, log_mass))
    fresh = np.ones(len(state), dtype=bool)
    fresh[1:] = (np.diff(state) != 0) | (np.diff(context) != 0) | (np.diff(ratio) > SAME)
    starts = np.flatnonzero(fresh)
    merged = np.logaddexp.reduceat(log_mass, starts) if len(starts) else log_mass
    return state[starts], context[starts], ratio[starts], merged
