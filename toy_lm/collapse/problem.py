"""A collapse problem: base models, an automaton, a length, and the objectives on a family's logits.

Every objective is minimised and takes (theta, base, ...) with one row each; the log-rows of a row's base are
passed along, so that many bases are solved at once. Valid words are few, and sums over them are the cheapest
to differentiate, twice and in batches.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dph_theory.support.errors import argument_error

from ..engine.automaton import ValidityAutomaton, checked_length
from ..engine.builders import balanced, counting
from ..engine.markov import MarkovLM, pass_rate
from .family import Bigrams
from .results import HIGHEST_RATE

MOST_WORDS = 2**20

Objective = Callable[..., Float[Tensor, " batch"]]
"""Maps (theta (batch, size), *parameters (batch, ...)) to values (batch,); row i depends only on row i."""


@dataclass(frozen=True, eq=False)
class CollapseProblem:
    """Bigram bases (cases,), the automaton of the valid words, and their length.

    Raises ValueError if no word of the length is valid, or every word, or the bases are not such a batch.
    """

    name: str
    bases: MarkovLM
    automaton: ValidityAutomaton
    length: int

    def __post_init__(self) -> None:
        self.automaton.require_informative(self.length)
        if len(self.bases.batch) != 1:
            raise argument_error("bases.batch", self.bases.batch, "one batch axis")

    @property
    def cases(self) -> int:
        """Number of bases."""
        return self.bases.batch[0]

    @cached_property
    def valid_words(self) -> Int[np.ndarray, "words length"]:
        """All valid words, in lexicographic order."""
        words = all_words(self.automaton.symbols, self.length)
        return words[self.automaton.accepts(words)]

    @cached_property
    def base_rates(self) -> Float[np.ndarray, " cases"]:
        """A1 = a(Y1) of each base."""
        return pass_rate(self.bases, self.automaton, self.length)

    @cached_property
    def targets(self) -> Float[np.ndarray, "cases words"]:
        """Filtered policy p_* of each base on the valid words."""
        return np.exp(self.bases.log_prob(self.valid_words)) / self.base_rates[:, None]

    def rows(self, family: Bigrams) -> Float[Tensor, "cases contexts V"]:
        """Log-rows of the bases in a family, as the objectives take them."""
        return family.tables(self.bases)

    def pass_rate(self, family: Bigrams, theta: Float[Tensor, "*batch size"]) -> Float[Tensor, "*batch"]:
        """Pass rate of each policy."""
        return family.log_prob(family.rows(theta), torch.from_numpy(self.valid_words)).exp().sum(-1)

    def family(self, *, homogeneous: bool) -> Bigrams:
        """Bigram policies on these words."""
        return Bigrams(self.automaton.symbols, self.length, homogeneous)

    def reverse_kl(self, family: Bigrams) -> Objective:
        """(theta, base, lambda) -> KL(pi||a) - lambda V(pi) = KL(pi||p_b) - log Z_b, with lambda = 1/b."""
        return lambda theta, base, strength: family.kl(theta, base) - strength * self.pass_rate(family, theta)

    def alpha(self, family: Bigrams, alpha: float) -> Objective:
        """Objective (theta, base) -> D_alpha(pi||p_*) = (1 - sum pi^(1-alpha) p_*^alpha)/(alpha (1-alpha)).

        The sum is over valid words, so that it is finite for every policy, also for mass on other words.
        """
        words = torch.from_numpy(self.valid_words)

        def objective(theta: Tensor, base: Tensor) -> Tensor:
            target = family.log_prob(base, words).log_softmax(-1)
            log_policy = family.log_prob(family.rows(theta), words)
            moment = torch.logsumexp((1 - alpha) * log_policy + alpha * target, dim=-1)
            return -torch.expm1(moment) / (alpha * (1 - alpha))

        return objective

    def reward(self, family: Bigrams) -> Objective:
        """Objective (theta, base) -> -V(pi), the expected reward; the base only sets the start."""
        return lambda theta, base: -self.pass_rate(family, theta)


def reference() -> CollapseProblem:
    """Balanced brackets of length 8, 14 of 256 words valid, and one base with a pass rate of about .05."""
    bases = MarkovLM(np.array([[0.7, 0.3]]), np.array([[[0.55, 0.45], [0.85, 0.15]]]))
    return CollapseProblem("brackets", bases, balanced("()", "(", ")", depth=4), 8)


def random_brackets(cases: int, seed: int | np.random.Generator) -> CollapseProblem:
    """Balanced brackets of length 8 with random bases, see `with_random_bases`."""
    return with_random_bases("random brackets", balanced("()", "(", ")", depth=4), 8, cases, seed)


def random_counts(cases: int, seed: int | np.random.Generator) -> CollapseProblem:
    """Words of length 6 with every letter of abc twice, 90 of 729, with random bases."""
    # Two counters suffice: the remaining letters of six are c.
    twice = [counting("abc", letter, at_least=2, at_most=2) for letter in "ab"]
    return with_random_bases("random counts", twice[0] & twice[1], 6, cases, seed)


def with_random_bases(
    name: str, automaton: ValidityAutomaton, length: int, cases: int, seed: int | np.random.Generator
) -> CollapseProblem:
    """Problem with base rows uniform on the simplex, conditioned on a pass rate below HIGHEST_RATE."""
    rng, V = np.random.default_rng(seed), automaton.symbols
    first, table = np.empty((0, V)), np.empty((0, V, V))
    while len(first) < cases:
        drawn = MarkovLM.random(V, batch=(cases,), seed=rng)
        poor = pass_rate(drawn, automaton, length) < HIGHEST_RATE
        first = np.concatenate([first, drawn.initial[poor]])[:cases]
        table = np.concatenate([table, drawn.transition[poor]])[:cases]
    return CollapseProblem(name, MarkovLM(first, table), automaton, length)


def all_words(symbols: int, length: int, *, at_most: int = MOST_WORDS) -> Int[np.ndarray, "words length"]:
    """All V^L words in lexicographic order; ValueError if there are more than `at_most`."""
    number = symbols ** checked_length(length)
    if number > at_most:
        raise argument_error("length", length, f"{symbols}**length = {number} words, but at most {at_most}")
    return np.indices((symbols,) * length, dtype=np.int64).reshape(length, number).T
