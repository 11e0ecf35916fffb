"""Bigram language models: the next symbol depends on the last one, by one table for every step."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int

from dph_theory.numeric.arrays import distribution
from dph_theory.numeric.elementary import Values
from dph_theory.support.errors import argument_error

from .automaton import ValidityAutomaton, checked_length, checked_words

Seed: TypeAlias = int | np.random.Generator


@dataclass(frozen=True, eq=False, repr=False)
class MarkovLM:
    """A bigram model over V symbols, or a batch of them, by probabilities in float64.

    initial (*batch, V) is the first symbol's distribution, row s of transition (*batch, V, V) that of the
    symbol after s. Raises ValueError for other shapes, or rows that are not distributions.
    """

    initial: np.ndarray
    transition: np.ndarray

    def __post_init__(self) -> None:
        expected = (*self.initial.shape, *self.initial.shape[-1:])
        if not self.initial.ndim or self.transition.shape != expected:
            raise argument_error("transition.shape", self.transition.shape, f"{expected}")
        for name, rows in (("initial", self.initial), ("transition", self.transition)):
            if rows.size:
                distribution(name, rows)

    def __repr__(self) -> str:
        return f"MarkovLM(vocabulary={self.vocabulary}, batch={self.batch})"

    @classmethod
    def random(cls, vocabulary: int, *, batch: tuple[int, ...] = (), seed: Seed) -> "MarkovLM":
        """Draw a model whose rows are uniform on the simplex."""
        rng, V = np.random.default_rng(seed), vocabulary
        if V < 1:
            raise argument_error("vocabulary", V, "a whole number, at least 1")
        initial = rng.dirichlet(np.ones(V), size=(*batch, 1))[..., 0, :]
        return cls(initial, rng.dirichlet(np.ones(V), size=(*batch, V)))

    @property
    def vocabulary(self) -> int:
        """Number V of symbols."""
        return self.initial.shape[-1]

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch of models, () for a single model."""
        return self.initial.shape[:-1]

    def step(self, t: int) -> Float[np.ndarray, "*batch contexts V"]:
        """Probabilities of symbol t given the previous one: one context at the first step, V at others."""
        return self.transition if t else self.initial[..., None, :]

    def log_prob(self, words: Int[np.ndarray, "*words length"]) -> Values:
        """Log-probability of each word, (*batch, *words)."""
        words = checked_words("words", words, self.vocabulary)
        total, context = np.zeros((*self.batch, *words.shape[:-1])), np.zeros(words.shape[:-1], dtype=int)
        for t in range(checked_length(words.shape[-1], at_least=1)):
            with np.errstate(divide="ignore"):
                total = total + np.log(self.step(t)[..., context, words[..., t]])
            context = words[..., t]
        return total


def pass_rate(model: MarkovLM, automaton: ValidityAutomaton, length: int) -> Values:
    """Pass rate E_pi[v] = pi(Y1) of each model of the batch, by one pass from the last symbol to the first.

    Raises ValueError for a length below 1, or another number of symbols than the automaton's.
    """
    checked_length(length, at_least=1)
    if (V := automaton.symbols) != model.vocabulary:
        raise argument_error("model.vocabulary", model.vocabulary, f"the automaton's {V} symbols")
    value = np.broadcast_to(automaton.accepting[:, None], (*model.batch, automaton.states, V)).astype(float)
    for t in reversed(range(length)):
        ahead = value[..., automaton.transitions, np.arange(V)][..., :, None, :]
        value = (model.step(t)[..., None, :, :] * ahead).sum(axis=-1)
    return value[..., automaton.initial, 0]
