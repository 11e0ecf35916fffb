"""The filtered and tilted models of a base, as Markov chains on (automaton state, context)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dph_theory.support.errors import argument_error

from . import semiring
from .automaton import ValidityAutomaton, checked_words
from .log_weights import Weights
from .markov import Answer, MarkovLM, Seed, agreed_length, answer, walk


@dataclass(frozen=True, eq=False, repr=False)
class ProductLM:
    """The law p(y) proportional to exp(sum_t w_t(c_t, y_t) + log_final(state reached by y)) on one length.

    An inhomogeneous Markov model on (state, context). messages are those of `semiring`; log_mass (*batch) is
    the log of the normaliser. Without total weight there is no such law: log_mass is -inf.
    """

    weights: Weights
    automaton: ValidityAutomaton
    log_final: Tensor
    messages: tuple[Tensor, ...]

    def __repr__(self) -> str:
        return f"ProductLM({self.weights!r}, {self.automaton!r}, length={self.length})"

    @classmethod
    def of(
        cls, weights: Weights, automaton: ValidityAutomaton, length: int, log_final: Tensor | None = None
    ) -> "ProductLM":
        """The law of these weights; without log_final the automaton only watches."""
        if log_final is None:
            log_final = torch.zeros(automaton.states, dtype=torch.float64)
        found = semiring.messages(weights, automaton, length, log_final)
        return cls(weights, automaton, log_final, found)

    @property
    def length(self) -> int:
        """The length of its words."""
        return len(self.messages) - 1

    @property
    def differentiable(self) -> bool:
        """Whether it answers in tensors."""
        return self.weights.differentiable

    @property
    def log_mass(self) -> Tensor:
        """The log of the total weight, (*batch): for the filtered model log a(Y1), for the tilted log Z_b."""
        return self.messages[0][..., self.automaton.initial, 0]

    def log_conditional(self, t: int, states: slice = semiring.EVERY) -> Float[Tensor, "*batch states C V"]:
        """Log-probabilities of symbol t, given the state and the context before it; -inf in dead ends."""
        return semiring.log_conditional(self.weights, self.automaton, self.messages, t, states)

    def conditional(self, t: int) -> Answer:
        """p_t(x | s, c) = w_t(c, x) e^{h_{t+1} - h_t}, (*batch, S, C, V); rows of zeros in dead ends."""
        return answer(self.log_conditional(t).exp(), self)

    def mean(self, row: semiring.Row) -> Float[Tensor, "*batch"]:
        """The expected sum of row costs, see `semiring.mean`."""
        return semiring.mean(self.weights, self.automaton, self.messages, row)

    def log_prob(self, words: Int[np.ndarray, "*words length"]) -> Answer:
        """Log-probability of each word, (*batch, *words)."""
        words = checked_words("words", words, self.automaton.symbols)
        agreed_length(words.shape[-1], self)
        state = np.full(words.shape[:-1], self.automaton.initial)
        context = np.zeros_like(state)
        total: Tensor = -self.log_mass[(..., *(None,) * state.ndim)]
        for t, symbol in enumerate(np.moveaxis(words, -1, 0)):
            table = self.weights.log_step(t)
            total = total + table[..., context, symbol]
            state = self.automaton.transitions[state, symbol]
            context = (context * self.automaton.symbols + symbol) % self.messages[t + 1].shape[-1]
        return answer(total + self.log_final[..., state], self)

    def sample(self, count: int, seed: Seed) -> Int[np.ndarray, "*batch count length"]:
        """Independent words, (*batch, count, length), drawn exactly, without rejection."""
        batch = tuple(self.log_mass.shape)
        machine = self.automaton
        return walk(
            self.log_conditional, machine.transitions, machine.initial, self.length, batch, count, seed
        )


Law = MarkovLM | ProductLM
"""Either kind of model."""


def filtered_lm(base: Weights, automaton: ValidityAutomaton, length: int) -> ProductLM:
    """The filtered model p_* = a(. | Y1): the base given that the word is valid.

    Raises ValueError if the automaton accepts no or every word of this length, or if the base gives the valid
    ones no mass. Source: dymetman2026binary.
    """
    automaton.require_informative(agreed_length(length, base))
    law = ProductLM.of(base, automaton, length, semiring.log_accepting(automaton))
    if not law.differentiable and (law.log_mass == -torch.inf).any():
        raise argument_error(
            "length", length, "the base must give some valid word of this length positive probability"
        )
    return law


def tilted_lm(base: Weights, automaton: ValidityAutomaton, length: int, beta: float) -> ProductLM:
    """The tilted model p_b proportional to a e^{v/beta}, the optimum of KL control; beta > 0.

    Its log_mass is log Z_b. Raises ValueError if the automaton accepts no or every word of this length, or if
    beta or 1/beta is not a finite number above 0. Source: dymetman2026binary.
    """
    if not 0 < beta < torch.inf or 1 / float(beta) == torch.inf:
        raise argument_error("beta", beta, "a finite number above 0, and so 1/beta")
    automaton.require_informative(agreed_length(length, base))
    gain = torch.from_numpy(automaton.accepting / beta)
    return ProductLM.of(base, automaton, length, gain)


def anything(vocabulary: int) -> ValidityAutomaton:
    """The automaton of one state that accepts every word."""
    letters = tuple(map(chr, range(vocabulary)))
    return ValidityAutomaton(np.zeros((1, vocabulary), dtype=np.int64), 0, np.array([True]), letters)


def on_one_automaton(laws: Sequence[Law], length: int | None = None) -> tuple[list[ProductLM], int]:
    """The laws as chains over the automaton that they share, and their length.

    A Markov model runs over any automaton. Raises ValueError for chains over different ones, for vocabularies
    or lengths that differ, or if nothing says the length.
    """
    known = {law.length for law in laws} | {length}
    length = agreed_length(next((n for n in known if n is not None), None), *laws)
    machines = [law.automaton for law in laws if isinstance(law, ProductLM)]
    first = laws[0]
    machine = machines[0] if machines else anything(first.vocabulary if isinstance(first, MarkovLM) else 1)
    for other in machines:
        same = other is machine or (
            np.array_equal(other.transitions, machine.transitions)
            and (other.initial, other.alphabet) == (machine.initial, machine.alphabet)
        )
        if not same:
            raise argument_error("automaton", other, "both laws must be over the same automaton")
    chains = [law if isinstance(law, ProductLM) else ProductLM.of(law, machine, length) for law in laws]
    order = max(chain.weights.order for chain in chains)
    return [_lifted(chain, order) for chain in chains], length


def _lifted(chain: ProductLM, order: int) -> ProductLM:
    if chain.weights.order == order:
        return chain
    return ProductLM.of(chain.weights.lifted(order), chain.automaton, chain.length, chain.log_final)
