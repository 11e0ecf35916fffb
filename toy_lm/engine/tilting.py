"""The filtered and tilted models of a base, as Markov chains on (automaton state, context)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dph_theory.support.errors import argument_error

from . import semiring
from .automaton import ValidityAutomaton, checked_words
from .markov import Answer, MarkovLM, Seed, agreed_length, answer, walk
from .step_costs import average

Row: TypeAlias = Callable[[int, slice, Tensor, Tensor], Tensor]
"""(step, states, log-conditionals, conditionals), both (*batch, states, C, V), to a cost of each of these
(state, context)."""
BLOCK = 1 << 17
"""States are taken so many numbers at a time: the dozen tables of a step then stay in the cache."""


@dataclass(frozen=True, eq=False, repr=False)
class ProductLM:
    """The law p(y) proportional to exp(sum_t w_t(c_t, y_t) + log_final(state reached by y)) on one length.

    An inhomogeneous Markov model on (state, context). messages are those of `semiring`; log_mass (*batch) is
    the log of the normaliser. Without total weight there is no such law: log_mass is -inf.
    """

    weights: MarkovLM
    automaton: ValidityAutomaton
    log_final: Tensor
    messages: tuple[Tensor, ...]

    def __repr__(self) -> str:
        return f"ProductLM({self.weights!r}, {self.automaton!r}, length={self.length})"

    @classmethod
    def of(
        cls, weights: MarkovLM, automaton: ValidityAutomaton, length: int, log_final: Tensor | None = None
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
        """Log-probabilities w_t + h_{t+1} - h_t of symbol t, given state and context; -inf in dead ends."""
        future = semiring.ahead(self.messages[t + 1], self.automaton, self.weights.vocabulary, states)
        log_w = self.weights.log_step(t).unflatten(-2, (-1, future.shape[-2]))
        joint = (log_w.unsqueeze(-4) + future.unsqueeze(-3)).flatten(-3, -2)
        here = self.messages[t][..., states, :]
        return joint - here.masked_fill(here == -torch.inf, 0.0).unsqueeze(-1)

    def conditional(self, t: int) -> Answer:
        """The probabilities of symbol t, (*batch, S, C, V); rows of zeros in dead ends."""
        return answer(self.log_conditional(t).exp(), self)

    def mean(self, row: Row) -> Float[Tensor, "*batch"]:
        """The expected sum of row costs, (*batch).

        e_t(s, c) = row_t(s, c) + sum_x p_t(x | s, c) e_{t+1}(delta(s, x), c x): convex combinations, so
        nothing cancels. A cost may be +inf, and counts where the chain can go there; nan where there is no
        total weight.
        """
        e = torch.zeros_like(self.messages[-1])
        for t in reversed(range(self.length)):
            e = torch.cat([self._cost_from(row, t, states, e) for states in self._blocks(t)], dim=-2)
        return e[..., self.automaton.initial, 0].masked_fill(self.log_mass == -torch.inf, torch.nan)

    def _blocks(self, t: int) -> list[slice]:
        """The states in blocks; all at once where autograd keeps every table anyway."""
        here, V = self.messages[t], self.weights.vocabulary
        states = here.shape[-2]
        size = states if self.differentiable else max(1, BLOCK * states // (here.numel() * V))
        return [slice(start, start + size) for start in range(0, states, size)]

    def _cost_from(self, row: Row, t: int, states: slice, e: Tensor) -> Tensor:
        """e_t at these states, from e_{t+1}."""
        log_p = self.log_conditional(t, states)
        p = log_p.exp()
        later = semiring.ahead(e, self.automaton, self.weights.vocabulary, states).unsqueeze(-3)
        by_oldest = (-1, later.shape[-2])
        if self.differentiable or bool((later == torch.inf).any()):
            following = average(log_p.unflatten(-2, by_oldest), p.unflatten(-2, by_oldest), later)
        else:
            following = (p.unflatten(-2, by_oldest) * later).sum(-1)
        return row(t, states, log_p, p) + following.flatten(-2)

    def lifted(self, order: int) -> "ProductLM":
        """The same law by weights of a higher order, or itself."""
        if order == self.weights.order:
            return self
        return ProductLM.of(self.weights.lifted(order), self.automaton, self.length, self.log_final)

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


def filtered_lm(base: MarkovLM, automaton: ValidityAutomaton, length: int) -> ProductLM:
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


def tilted_lm(base: MarkovLM, automaton: ValidityAutomaton, length: int, beta: float) -> ProductLM:
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
    return [chain.lifted(order) for chain in chains], length
