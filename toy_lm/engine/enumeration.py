"""The slow reference: every word of a length, for Markov models and for any torch autoregressive model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

import dph_theory
from dph_theory import FDivergence
from dph_theory.coverage import entropy
from dph_theory.support.errors import argument_error

from .automaton import ValidityAutomaton, checked_length
from .markov import Answer
from .tilting import Law

MOST_WORDS = 2**20


NextLogits: TypeAlias = Callable[[Tensor], Tensor]
"""An autoregressive model: logits of the next symbol (batch, V) from int64 prefixes (batch, t), t >= 0."""


def all_words(vocabulary: int, length: int, *, at_most: int = MOST_WORDS) -> Int[np.ndarray, "words length"]:
    """All V^L words in lexicographic order; ValueError if there are more than `at_most`."""
    number = vocabulary ** checked_length(length)
    if number > at_most:
        raise argument_error(
            "length", length, f"{vocabulary}**length = {number} words, but at most {at_most}"
        )
    digits = np.indices((vocabulary,) * length, dtype=np.int64)
    return digits.reshape(length, number).T


def word_log_probs(
    model: Law | NextLogits, vocabulary: int, length: int, *, at_most: int = MOST_WORDS
) -> Answer:
    """Log-probabilities of all words in the order of `all_words`, (*batch, V^L), in float64.

    Of a Markov or product model, or of a callable that gives the next symbol's logits; the callable is asked
    once for each prefix length, and its answer is a tensor with the gradient. ValueError as in `all_words`,
    or for logits of another shape.
    """
    words = all_words(vocabulary, length, at_most=at_most)
    if isinstance(model, Law):
        return model.log_prob(words)
    total = torch.zeros(1, dtype=torch.float64)
    for t in range(length):
        prefixes = torch.from_numpy(all_words(vocabulary, t).copy())
        logits = model(prefixes)
        if tuple(logits.shape) != (len(prefixes), vocabulary):
            raise argument_error("logits.shape", tuple(logits.shape), f"({len(prefixes)}, {vocabulary})")
        total = (total[:, None] + torch.log_softmax(logits.double(), dim=-1)).flatten()
    return total


@dataclass(frozen=True, eq=False)
class Enumerated:
    """A law over all words, with the exact engine's quantities by brute force through dph_theory."""

    probabilities: Float[np.ndarray, "*batch words"]
    valid: np.ndarray

    @classmethod
    def of(cls, model: Law | NextLogits, automaton: ValidityAutomaton, length: int) -> "Enumerated":
        """Every word's probability under the model, and whether the automaton accepts it."""
        log_probs = torch.as_tensor(word_log_probs(model, automaton.symbols, length))
        words = all_words(automaton.symbols, length)
        return cls(log_probs.detach().exp().numpy(), np.asarray(automaton.accepts(words)))

    def validity(self) -> Answer:
        """pi(Y1)."""
        return np.where(self.valid, self.probabilities, 0.0).sum(axis=-1)

    def entropy(self) -> Answer:
        """-sum p log p."""
        return entropy(self.probabilities)

    def filtered(self) -> "Enumerated":
        """The law given that the word is valid."""
        return Enumerated(dph_theory.filtered(self.probabilities, self.valid), self.valid)

    def tilted(self, beta: float) -> "Enumerated":
        """The law tilted by e^{v/beta}."""
        return Enumerated(dph_theory.tilted(self.probabilities, self.valid, beta), self.valid)

    def divergence(self, divergence: FDivergence, other: "Enumerated") -> Answer:
        """D_f(self || other)."""
        return divergence(self.probabilities, other.probabilities)

    def excess_kl(self, base: "Enumerated") -> dph_theory.ExcessKL:
        """The decomposition of KL(self || base)."""
        return dph_theory.excess_kl(self.probabilities, base.probabilities, self.valid)

    def distinct_valid(self, k: int) -> Answer:
        """The expected number of distinct valid words in k draws."""
        return dph_theory.expected_distinct_valid(self.probabilities, self.valid, k)

    def coverage(self, base: "Enumerated", fraction: float) -> Answer:
        """The filtered base's mass of the words that get the fraction of it among the policy's valid."""
        due = base.filtered().probabilities
        reached = self.filtered().probabilities >= fraction * due
        return np.where(reached, due, 0.0).sum(axis=-1)
