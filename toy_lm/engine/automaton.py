"""A verifier as a complete deterministic automaton that accepts the valid words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from automata.fa.dfa import DFA
from jaxtyping import Bool, Int

from dph_theory.support.errors import argument_error


@dataclass(frozen=True, eq=False, repr=False)
class ValidityAutomaton:
    """A complete deterministic automaton: state, symbol -> transitions[state, symbol].

    A word is valid iff it leads from `initial` to an accepting state. transitions are integers (states,
    symbols), accepting booleans (states,), alphabet one character per symbol; otherwise ValueError.
    """

    transitions: np.ndarray
    initial: int
    accepting: np.ndarray
    alphabet: tuple[str, ...]

    def __post_init__(self) -> None:
        checked_alphabet(self.alphabet)
        table, accepting = np.asarray(self.transitions), np.asarray(self.accepting)
        states = len(accepting)
        if table.shape != (states, len(self.alphabet)) or states == 0:
            allowed = f"({states}, {len(self.alphabet)}): one row a state of accepting, one column a symbol"
            raise argument_error("transitions.shape", table.shape, allowed)
        if table.dtype.kind not in "iu" or accepting.dtype != bool:
            raise argument_error(
                "dtype", (table.dtype, accepting.dtype), "integer transitions, boolean accepting"
            )
        outside = (table < 0) | (table >= states)
        if outside.any():
            raise argument_error("transitions", int(table[outside][0]), f"a state, 0 to {states - 1}")
        if not 0 <= self.initial < states:
            raise argument_error("initial", self.initial, f"a state, 0 to {states - 1}")
        # Frozen, because cached results depend on these arrays.
        for name, array in (("transitions", table.astype(np.int64)), ("accepting", accepting.copy())):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        return f"ValidityAutomaton(states={self.states}, alphabet={''.join(self.alphabet)!r})"

    @property
    def states(self) -> int:
        """Number of states."""
        return len(self.accepting)

    @property
    def symbols(self) -> int:
        """Size of the alphabet."""
        return len(self.alphabet)

    def accepts(self, words: Int[np.ndarray, "*words length"]) -> Bool[np.ndarray, "*words"] | np.bool_:
        """Is each word, symbols along the last axis, valid? ValueError for unknown symbols."""
        words = checked_words("words", words, self.symbols)
        state = np.full(words.shape[:-1], self.initial)
        for symbol in np.moveaxis(words, -1, 0):
            state = self.transitions[state, symbol]
        return self.accepting[state]

    def decode(self, word: Int[np.ndarray, " length"]) -> str:
        """Text of a word."""
        return "".join(self.alphabet[symbol] for symbol in checked_words("word", word, self.symbols))

    def require_informative(self, length: int) -> None:
        """Raise ValueError if the automaton accepts none of the words of this length, or all of them."""
        accepts_one = accepts_all = self.accepting
        for _ in range(checked_length(length)):
            accepts_one = accepts_one[self.transitions].any(axis=1)
            accepts_all = accepts_all[self.transitions].all(axis=1)
        if not accepts_one[self.initial] or accepts_all[self.initial]:
            what = "accepts all" if accepts_one[self.initial] else "accepts none"
            allowed = f"the automaton {what} of the words of this length; some must be valid and some not"
            raise argument_error("length", length, allowed)

    def __and__(self, other: "ValidityAutomaton") -> "ValidityAutomaton":
        """Return the minimal automaton of the words that both automata accept."""
        if self.alphabet != other.alphabet:
            raise argument_error("alphabet", other.alphabet, f"the same on both sides, here {self.alphabet}")
        return minimal(self._as_library() & other._as_library(), self.alphabet)

    def minimised(self) -> "ValidityAutomaton":
        """Return the automaton of fewest states with this language; see `minimal`."""
        return minimal(self._as_library(), self.alphabet)

    def _as_library(self) -> DFA:
        rows = [dict(zip(self.alphabet, row, strict=True)) for row in self.transitions.tolist()]
        return DFA(
            states=set(range(self.states)),
            input_symbols=set(self.alphabet),
            transitions=dict(enumerate(rows)),
            initial_state=self.initial,
            final_states=set(np.flatnonzero(self.accepting).tolist()),
        )


def minimal(automaton: DFA, alphabet: tuple[str, ...]) -> ValidityAutomaton:
    """Return the minimal complete automaton of automata-lib's language.

    States are numbered breadth-first from the initial state, so equal languages give equal arrays.
    """
    small = automaton.minify().to_complete()
    states = [small.initial_state]
    for state in states:
        ahead = dict.fromkeys(small.transitions[state][symbol] for symbol in alphabet)
        states += [other for other in ahead if other not in states]
    number = {state: index for index, state in enumerate(states)}
    table = [[number[small.transitions[state][symbol]] for symbol in alphabet] for state in states]
    accepting = np.array([state in small.final_states for state in states])
    return ValidityAutomaton(np.array(table), 0, accepting, alphabet)


def checked_alphabet(alphabet: Sequence[str]) -> tuple[str, ...]:
    """Require distinct single characters, as a tuple."""
    symbols = tuple(alphabet)
    if not symbols or len(set(symbols)) < len(symbols) or any(len(symbol) != 1 for symbol in symbols):
        raise argument_error("alphabet", alphabet, "distinct single characters, at least one")
    return symbols


def checked_words(name: str, words: Any, symbols: int) -> np.ndarray:
    """Require words as an integer array with entries from 0 to symbols - 1."""
    words = np.asarray(words)
    if words.ndim == 0 or words.dtype.kind not in "iu":
        raise argument_error(name, words, "an integer array, symbols along the last axis")
    outside = (words < 0) | (words >= symbols)
    if outside.any():
        raise argument_error(name, int(words[outside][0]), f"symbols 0 to {symbols - 1}")
    return words


def checked_length(length: int, *, at_least: int = 0) -> int:
    """Require a word length of at least `at_least`."""
    if length < at_least:
        raise argument_error("length", length, f"a whole number, at least {at_least}")
    return length
