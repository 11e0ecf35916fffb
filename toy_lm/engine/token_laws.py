"""The laws of token penalties over Markov bases: again Markov chains on (automaton state, context).

The token reverse KL's law weighs each symbol by e^{Q/beta}, Q the validity to come after it; its limit, the
locally filtered model, keeps the symbols after which the automaton can still accept (theory E2, E3).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import rel_entr, softmax

from dph_theory.numeric.arrays import positive
from dph_theory.support.errors import argument_error

from .automaton import ValidityAutomaton
from .markov import MarkovLM, agreed_length, next_contexts, single
from .tilting import ProductLM, filtered_lm

Rule = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Rows of the base (contexts, V) and what follows each symbol -> the law's rows, and what it hands back."""


@dataclass(frozen=True, eq=False)
class TokenLaw:
    """A law of words by its next-symbol probabilities: steps[t] (states, contexts, V); rows may be zero."""

    automaton: ValidityAutomaton
    steps: tuple[np.ndarray, ...]

    @property
    def length(self) -> int:
        """The length of its words."""
        return len(self.steps)

    def visits(self, t: int, here: np.ndarray) -> np.ndarray:
        """The law of (state, context) after symbol t, given that before it; shapes (states, contexts)."""
        table = self.steps[t]
        states, contexts, V = table.shape
        ahead = self.steps[t + 1].shape[1] if t + 1 < self.length else contexts
        after = np.zeros((states, ahead))
        target = self.automaton.transitions[:, None, :], next_contexts(np.arange(contexts), V, ahead)
        np.add.at(after, target, here[..., None] * table)
        return after

    def mean(self, row: Callable[[int], np.ndarray]) -> float:
        """The expected sum over the steps of row(t), a cost (states, contexts) of each."""
        total = 0.0
        for t, here in zip(range(self.length), self._course(), strict=False):
            total += float((here * np.where(here > 0, row(t), 0.0)).sum())
        return total

    def validity(self) -> float:
        """The probability that the automaton accepts."""
        *_, last = self._course()
        return float(last[self.automaton.accepting].sum())

    def _course(self) -> Iterator[np.ndarray]:
        """The law of (state, context) before each step and after the last."""
        here = np.zeros(self.steps[0].shape[:2])
        here[self.automaton.initial, 0] = 1.0
        yield here
        for t in range(self.length):
            here = self.visits(t, here)
            yield here


def token_reverse(base: MarkovLM, automaton: ValidityAutomaton, length: int, beta: float) -> TokenLaw:
    """The law of the token reverse KL at beta > 0: a e^{Q/beta} at every state and context (theory E2)."""
    beta = float(positive("beta", beta))

    def rule(rows: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(divide="ignore"):
            law = softmax(np.log(rows) + value / beta, axis=-1)
        return law, (law * value).sum(axis=-1)

    return _backward(base, automaton, length, automaton.accepting.astype(float), rule)


def locally_filtered(base: MarkovLM, automaton: ValidityAutomaton, length: int) -> TokenLaw:
    """The base with only the symbols kept after which a valid word can still be completed (theory E3).

    What grammar-constrained decoding samples from. Where none can, the base's own rows.
    """

    def rule(rows: np.ndarray, alive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        kept = np.where(alive > 0, rows, 0.0)
        mass = kept.sum(axis=-1, keepdims=True)
        law = np.where(mass > 0, kept / np.where(mass > 0, mass, 1.0), rows)
        return law, (mass[..., 0] > 0).astype(float)

    return _backward(base, automaton, length, automaton.accepting.astype(float), rule)


def base_law(base: MarkovLM, automaton: ValidityAutomaton, length: int) -> TokenLaw:
    """The base itself, over the automaton."""
    return _backward(
        base, automaton, length, np.zeros(automaton.states), lambda rows, value: (rows, value[..., 0])
    )


def filtered_law(base: MarkovLM, automaton: ValidityAutomaton, length: int) -> TokenLaw:
    """The filtered model p_*, as in `filtered_lm`, by its rows; zeros where no valid word can follow."""
    law: ProductLM = filtered_lm(single("base", base), automaton, length)
    return TokenLaw(automaton, tuple(law.conditional(t) for t in range(length)))


def token_law_kl(law: TokenLaw, reference: TokenLaw) -> float:
    """KL(law || reference) in nats over one automaton, by the chain rule; inf where the reference misses."""
    if law.automaton is not reference.automaton or law.length != reference.length:
        raise argument_error("reference", reference, "a law over the same automaton and length")
    return law.mean(lambda t: rel_entr(law.steps[t], reference.steps[t]).sum(axis=-1))


def _backward(
    base: MarkovLM, automaton: ValidityAutomaton, length: int, final: np.ndarray, rule: Rule
) -> TokenLaw:
    """One pass from the last symbol: what follows each symbol, and by the rule the rows before it."""
    length = agreed_length(length, single("base", base))
    V = base.vocabulary
    if automaton.symbols != V:
        raise argument_error("base.vocabulary", V, f"the automaton's {automaton.symbols} symbols")
    contexts = [V ** min(t, base.order) for t in range(length + 1)]
    value = np.broadcast_to(final[:, None], (automaton.states, contexts[-1]))
    steps: list[np.ndarray] = []
    for t in reversed(range(length)):
        ahead = value[
            automaton.transitions[:, None, :], next_contexts(np.arange(contexts[t]), V, contexts[t + 1])
        ]
        rows = np.broadcast_to(base.log_step(t).exp().detach().numpy(), ahead.shape)
        law, value = rule(rows, ahead)
        steps.append(law)
    return TokenLaw(automaton, tuple(reversed(steps)))
