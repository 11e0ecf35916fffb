"""Automata from regular expressions, predicates, counting and balance constraints; all minimal."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from automata.base.exceptions import AutomatonException, RegexException
from automata.fa.dfa import DFA
from automata.fa.nfa import NFA

from dph_theory.support.errors import argument_error

from .automaton import ValidityAutomaton, checked_alphabet, checked_length, minimal


def from_regex(pattern: str, alphabet: Sequence[str]) -> ValidityAutomaton:
    r"""Automaton of the words that a regular expression matches as a whole.

    The syntax is automata-lib's: `*`, `+`, `?`, `{m,n}`, `|`, `&`, `^`, `.`, `[a-z]`; a backslash makes a
    symbol literal, as in `\(`. Raises ValueError for other patterns or symbols.
    """
    alphabet = checked_alphabet(alphabet)
    try:
        automaton = DFA.from_nfa(NFA.from_regex(pattern, input_symbols=set(alphabet)))
    except (AutomatonException, RegexException) as error:
        raise argument_error("pattern", pattern, f"a regular expression over {alphabet} ({error})") from error
    return minimal(automaton, alphabet)


def from_predicate(
    predicate: Callable[[str], bool], alphabet: Sequence[str], length: int, *, at_most: int = 2**20
) -> ValidityAutomaton:
    """Automaton of the words of exactly this length for which predicate(text) is true.

    The predicate is called for every word of the length. Raises ValueError for more than `at_most` words.
    """
    alphabet = checked_alphabet(alphabet)
    words = len(alphabet) ** checked_length(length)
    if words > at_most:
        allowed = f"{len(alphabet)}**length words to test, at most {at_most}, but these are {words}"
        raise argument_error("length", length, allowed)
    texts = map("".join, itertools.product(alphabet, repeat=length))
    language = {text for text in texts if predicate(text)}
    return minimal(DFA.from_finite_language(set(alphabet), language), alphabet)


def counting(
    alphabet: Sequence[str], symbol: str, *, at_least: int = 0, at_most: int | None = None
) -> ValidityAutomaton:
    """Automaton of the words in which a symbol occurs between at_least and at_most times.

    Raises ValueError for a symbol outside the alphabet, or an empty range.
    """
    alphabet = checked_alphabet(alphabet)
    _position("symbol", symbol, alphabet)
    if at_least < 0:
        raise argument_error("at_least", at_least, "a whole number, at least 0")
    if at_most is not None and at_most < at_least:
        raise argument_error("at_most", at_most, f"a whole number, at least at_least = {at_least}, or None")
    symbols, counted = set(alphabet), {symbol}
    counts = DFA.of_length(symbols, min_length=at_least, max_length=at_most, symbols_to_count=counted)
    return minimal(counts, alphabet)


def balanced(alphabet: Sequence[str], opening: str, closing: str, *, depth: int) -> ValidityAutomaton:
    """Automaton of words with balanced brackets, at most `depth` deep (Dyck words); others are neutral.

    Raises ValueError for brackets that are equal or outside the alphabet, or a depth below 1.
    """
    alphabet = checked_alphabet(alphabet)
    up, down = _position("opening", opening, alphabet), _position("closing", closing, alphabet)
    if up == down:
        raise argument_error("closing", closing, "a symbol other than the opening one")
    if depth < 1:
        raise argument_error("depth", depth, "a whole number, at least 1")
    dead = depth + 1
    level = np.arange(dead + 1)
    table = np.repeat(level[:, None], len(alphabet), axis=1)
    table[:, up] = np.minimum(level + 1, dead)
    table[:, down] = np.where((level == 0) | (level == dead), dead, level - 1)
    return ValidityAutomaton(table, 0, level == 0, alphabet).minimised()


def _position(name: str, symbol: str, alphabet: tuple[str, ...]) -> int:
    if symbol not in alphabet:
        raise argument_error(name, symbol, f"a symbol of the alphabet {alphabet}")
    return alphabet.index(symbol)
