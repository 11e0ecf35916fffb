"""Automata from patterns, predicates and constraints."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.toy_models import DYCK, automata

from toy_lm import balanced, counting, from_predicate, from_regex
from toy_lm.collapse.problem import all_words


def symbols(text):
    return np.array(["ab".index(letter) for letter in text], dtype=int)


@pytest.mark.parametrize("pattern", ["(ab)*c?", "a*b|c", "[ab]+", "(a|bc){2,3}", ""])
def test_a_regular_expression_is_pythons(pattern):
    automaton = from_regex(pattern, "abc")
    for n in range(6):
        words = all_words(3, n)
        matches = [re.fullmatch(pattern, automaton.decode(word)) is not None for word in words]
        assert automaton.accepts(words).tolist() == matches


def test_brackets_are_escaped():
    automaton = from_regex(r"(\(\))*", "()")
    assert [int(automaton.accepts(all_words(2, n)).sum()) for n in range(5)] == [1, 0, 1, 0, 1]


@given(automata(symbols=2), st.integers(0, 5))
@settings(max_examples=25)
def test_a_predicate_gives_its_words_of_that_length_only(automaton, length):
    built = from_predicate(lambda text: automaton.accepts(symbols(text)).item(), "ab", length)
    for n in range(7):
        words = all_words(2, n)
        expected = automaton.accepts(words) if n == length else np.zeros(len(words), dtype=bool)
        assert (built.accepts(words) == expected).all()
    assert built.states == built.minimised().states


@given(st.integers(0, 4), st.none() | st.integers(0, 3))
def test_counting_counts(at_least, more):
    at_most = None if more is None else at_least + more
    automaton = counting("xyz", "y", at_least=at_least, at_most=at_most)
    words = all_words(3, 6)
    times = (words == 1).sum(axis=1)
    expected = (times >= at_least) & (times <= (6 if at_most is None else at_most))
    assert (automaton.accepts(words) == expected).all()


def test_balance_with_neutral_symbols_and_a_bound():
    automaton = balanced("(x)", "(", ")", depth=2)
    words = all_words(3, 6)
    height = np.cumsum((words == 0).astype(int) - (words == 2), axis=1)
    expected = (height >= 0).all(axis=1) & (height <= 2).all(axis=1) & (height[:, -1] == 0)
    assert (automaton.accepts(words) == expected).all()
    # A false neighbour: without the bound one more word of this length balances, ((())).
    deeper = balanced("(x)", "(", ")", depth=3)
    assert deeper.accepts(words).sum() == automaton.accepts(words).sum() + 1
    assert DYCK.states == 6


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: from_regex("(", "ab"), r"pattern='\('"),
        (lambda: from_regex("x*", "ab"), "pattern='x\\*'"),
        (lambda: from_regex("a", "aa"), "alphabet"),
        (lambda: counting("ab", "c"), "symbol='c'"),
        (lambda: counting("ab", "a", at_least=-1), "at_least=-1"),
        (lambda: counting("ab", "a", at_least=3, at_most=2), "at_most=2"),
        (lambda: balanced("ab", "a", "a", depth=1), "closing='a'"),
        (lambda: balanced("ab", "a", "x", depth=1), "closing='x'"),
        (lambda: balanced("ab", "a", "b", depth=0), "depth=0"),
        (lambda: from_predicate(bool, "ab", 30), r"length=30 .* at most 1048576, but these are 1073741824"),
    ],
)
def test_errors(build, message):
    with pytest.raises(ValueError, match=message):
        build()
