"""Bigram language models: the next symbol depends on the last one, homogeneously in time or not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float, Int

from dph_theory.numeric.arrays import distribution
from dph_theory.numeric.balls import Values
from dph_theory.support.errors import argument_error

from .automaton import checked_length, checked_words

Seed: TypeAlias = int | np.random.Generator
Table: TypeAlias = np.ndarray | Sequence[Any]


@dataclass(frozen=True, eq=False, repr=False)
class MarkovLM:
    """A bigram model over V symbols, or a batch of them, by probabilities in float64.

    initial (*batch, V) is the first symbol's law, row s of transition (*batch, V, V) that of the symbol
    after s; with a step axis, (*batch, length - 1, V, V), the model is one of words of that length alone.
    Raises ValueError for other shapes, or rows that are no distributions.
    """

    initial: np.ndarray
    transition: np.ndarray

    def __post_init__(self) -> None:
        first, table = self.initial, self.transition
        V = first.shape[-1] if first.ndim else 0
        if table.shape[-2:] != (V, V) or table.shape[: first.ndim - 1] != first.shape[:-1]:
            allowed = f"{(*first.shape[:-1], V, V)}, or with a step axis after the batch"
            raise argument_error("transition.shape", table.shape, allowed)
        if table.ndim - first.ndim not in (1, 2):
            raise argument_error("transition.ndim", table.ndim, "one step axis at most")
        for name, rows in (("initial", first), ("transition", table)):
            if rows.size:
                distribution(name, rows)

    def __repr__(self) -> str:
        return f"MarkovLM(vocabulary={self.vocabulary}, length={self.length}, batch={self.batch})"

    @classmethod
    def from_probabilities(cls, initial: Table, transition: Table) -> "MarkovLM":
        """The model with these probabilities, arrays or rows of numbers."""
        return cls(np.array(initial, dtype=float), np.array(transition, dtype=float))

    @classmethod
    def random(
        cls, vocabulary: int, *, length: int | None = None, batch: tuple[int, ...] = (), seed: Seed
    ) -> "MarkovLM":
        """A model whose rows are uniform on the simplex; homogeneous, or inhomogeneous with a length."""
        rng, V = np.random.default_rng(seed), vocabulary
        if V < 1:
            raise argument_error("vocabulary", V, "a whole number, at least 1")
        steps = () if length is None else (checked_length(length, at_least=1) - 1,)
        initial = rng.dirichlet(np.ones(V), size=(*batch, 1))[..., 0, :]
        return cls(initial, rng.dirichlet(np.ones(V), size=(*batch, *steps, V)))

    @property
    def vocabulary(self) -> int:
        """The number V of symbols."""
        return self.initial.shape[-1]

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes: one model each."""
        return self.initial.shape[:-1]

    @property
    def homogeneous(self) -> bool:
        """Whether one table serves every step after the first."""
        return self.transition.ndim == self.initial.ndim + 1

    @property
    def length(self) -> int | None:
        """The only word length that an inhomogeneous model knows; None if homogeneous."""
        return None if self.homogeneous else 1 + self.transition.shape[-3]

    def step(self, t: int) -> Float[np.ndarray, "*batch contexts V"]:
        """Probabilities of symbol t given the one before: one context at the first step, V at others."""
        if t == 0:
            return self.initial[..., None, :]
        return self.transition if self.homogeneous else self.transition[..., t - 1, :, :]

    def member(self, *index: Any) -> "MarkovLM":
        """One model of the batch."""
        return MarkovLM(self.initial[index], self.transition[index])

    def log_prob(self, words: Int[np.ndarray, "*words length"]) -> Values:
        """Log-probability of each word, (*batch, *words)."""
        words = checked_words("words", words, self.vocabulary)
        total, context = np.zeros((*self.batch, *words.shape[:-1])), np.zeros(words.shape[:-1], dtype=int)
        for t in range(agreed_length(words.shape[-1], self)):
            with np.errstate(divide="ignore"):
                total = total + np.log(self.step(t)[..., context, words[..., t]])
            context = words[..., t]
        return total


def agreed_length(length: int, *models: MarkovLM) -> int:
    """The length, if every model can have it; ValueError otherwise."""
    for model in models:
        if model.length not in (None, length):
            allowed = f"the inhomogeneous model is one of words of length {model.length}"
            raise argument_error("length", length, allowed)
    return checked_length(length, at_least=1)
