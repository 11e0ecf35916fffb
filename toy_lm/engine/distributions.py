"""Distributions over words of a bigram base and a verifier, as chains on (state, last symbol).

The filtered and the locally filtered model take one pass from the last symbol, divergences one from the
first. By the chain rule a divergence is a sum of non-negative divergences of next-symbol rows, so it is
accurate however small.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import rel_entr

from dph_theory.numeric.elementary import Values
from dph_theory.support.errors import argument_error

from .automaton import ValidityAutomaton, checked_length
from .markov import MarkovLM

Rule = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Maps the base's rows (contexts, V) and each symbol's future to the new rows and the value passed back."""


@dataclass(frozen=True, eq=False)
class TokenDistribution:
    """Words by their next-symbol probabilities: steps[t] (states, contexts, V); rows may be zero."""

    automaton: ValidityAutomaton
    steps: tuple[np.ndarray, ...]

    def course(self) -> Iterator[np.ndarray]:
        """Probability of (state, context) before each step and after the last."""
        V = self.automaton.symbols
        probabilities = np.zeros(self.steps[0].shape[:2])
        probabilities[self.automaton.initial, 0] = 1.0
        yield probabilities
        for table in self.steps:
            emitted = (probabilities[..., None] * table).sum(axis=1)
            probabilities = np.zeros((self.automaton.states, V))
            np.add.at(probabilities, (self.automaton.transitions, np.arange(V)), emitted)
            yield probabilities


def base_distribution(base: MarkovLM, automaton: ValidityAutomaton, length: int) -> TokenDistribution:
    """The base itself, over the automaton."""
    every = np.ones(automaton.states)
    return _backward(base, automaton, length, every, lambda rows, ahead: (rows, ahead[..., 0]))[0]


def filtered_lm(base: MarkovLM, automaton: ValidityAutomaton, length: int) -> TokenDistribution:
    """Filtered policy p_* = a(. | Y1): the base given that the word is valid.

    Raises ValueError if the automaton accepts no or every word of this length, or if the base gives the valid
    words no mass. Source: dymetman2026binary.
    """
    automaton.require_informative(length)

    def rule(rows: np.ndarray, ahead: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        joint = rows * ahead
        mass = joint.sum(axis=-1, keepdims=True)
        # Long words have a small mass, so only ratios of masses are passed back.
        return joint / np.where(mass > 0, mass, 1.0), mass[..., 0] / (mass.max() or 1.0)

    tokens, mass = _backward(base, automaton, length, automaton.accepting.astype(float), rule)
    if mass == 0:
        allowed = "the base must give some valid word of this length positive probability"
        raise argument_error("length", length, allowed)
    return tokens


def locally_filtered(base: MarkovLM, automaton: ValidityAutomaton, length: int) -> TokenDistribution:
    """Locally filtered model: the base restricted to symbols after which a valid word can be completed.

    This is the distribution of grammar-constrained decoding. Dead ends have the base's own rows.
    """

    def rule(rows: np.ndarray, alive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        allowed = np.where(alive > 0, rows, 0.0)
        mass = allowed.sum(axis=-1, keepdims=True)
        conditioned = np.where(mass > 0, allowed / np.where(mass > 0, mass, 1.0), rows)
        return conditioned, (mass[..., 0] > 0).astype(float)

    tokens, _ = _backward(base, automaton, length, automaton.accepting.astype(float), rule)
    return tokens


def token_distribution_kl(policy: TokenDistribution, reference: TokenDistribution) -> float:
    """KL(policy || reference) in nats over one automaton, by the chain rule; may be inf."""
    same = np.array_equal(policy.automaton.transitions, reference.automaton.transitions)
    if not same or len(policy.steps) != len(reference.steps):
        raise argument_error("reference", reference, "a distribution over the same automaton and length")
    total = 0.0
    for reached, ours, theirs in zip(policy.course(), policy.steps, reference.steps, strict=False):
        total += float((reached * np.where(reached > 0, rel_entr(ours, theirs).sum(axis=-1), 0.0)).sum())
    return total


def pass_rate(model: MarkovLM, automaton: ValidityAutomaton, length: int) -> Values:
    """Pass rate E_pi[v] = pi(Y1) of each model of the batch."""
    _check(model, automaton, length)
    V = automaton.symbols
    value = np.broadcast_to(automaton.accepting[:, None], (*model.batch, automaton.states, V)).astype(float)
    for t in reversed(range(length)):
        ahead = value[..., automaton.transitions, np.arange(V)][..., :, None, :]
        value = (model.step(t)[..., None, :, :] * ahead).sum(axis=-1)
    return value[..., automaton.initial, 0]


def _backward(
    base: MarkovLM, automaton: ValidityAutomaton, length: int, final: np.ndarray, rule: Rule
) -> tuple[TokenDistribution, float]:
    """Pass once from the last symbol to the first: `rule` maps each symbol's future to earlier rows."""
    # Returns the distribution and the value passed back at the beginning.
    _check(base, automaton, length)
    if base.batch:
        raise argument_error("base.batch", base.batch, "one model, without batch axes")
    V = automaton.symbols
    value = np.broadcast_to(final[:, None], (automaton.states, V))
    steps: list[np.ndarray] = []
    for t in reversed(range(length)):
        rows = base.step(t)
        ahead = value[automaton.transitions, np.arange(V)][:, None, :]
        ahead = np.broadcast_to(ahead, (automaton.states, len(rows), V))
        conditioned, value = rule(np.broadcast_to(rows, ahead.shape), ahead)
        steps.append(conditioned)
    return TokenDistribution(automaton, tuple(reversed(steps))), float(value[automaton.initial, 0])


def _check(model: MarkovLM, automaton: ValidityAutomaton, length: int) -> None:
    checked_length(length, at_least=1)
    if automaton.symbols != model.vocabulary:
        allowed = f"the automaton's {automaton.symbols} symbols"
        raise argument_error("base.vocabulary", model.vocabulary, allowed)
