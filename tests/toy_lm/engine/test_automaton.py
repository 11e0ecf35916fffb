"""Validity automata: languages, products, minimisation; from patterns, predicates and constraints."""

import re

import numpy as np
import pytest
from automata.fa.dfa import DFA
from hypothesis import given, settings
from hypothesis import strategies as st
from support.toy_models import automata

from toy_lm import ValidityAutomaton, balanced, counting, from_predicate, from_regex
from toy_lm.collapse.problem import all_words


def language(automaton: ValidityAutomaton) -> list[np.ndarray]:
    return [automaton.accepts(all_words(automaton.symbols, n)) for n in range(6)]


def from_library(automaton: ValidityAutomaton) -> DFA:
    steps = [dict(zip(automaton.alphabet, map(int, row), strict=True)) for row in automaton.transitions]
    final = set(np.flatnonzero(automaton.accepting).tolist())
    sets = {"states": set(range(len(steps))), "input_symbols": set(automaton.alphabet), "final_states": final}
    return DFA(**sets, transitions=dict(enumerate(steps)), initial_state=automaton.initial)


@given(automata(), automata())
@settings(max_examples=25)
def test_products_are_those_of_languages(left, right):
    for both, one, other in zip(language(left & right), language(left), language(right), strict=True):
        assert (both == (one & other)).all()


@given(automata(symbols=2, most_states=7), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_minimisation_keeps_the_language_is_minimal_and_forgets_the_order_of_states(automaton, random):
    small = automaton.minimised()
    for before, after in zip(language(automaton), language(small), strict=True):
        assert (before == after).all()
    assert small.states == len(from_library(automaton).minify().states)
    order = list(range(automaton.states))
    random.shuffle(order)
    rank = np.argsort(order)
    renamed = ValidityAutomaton(
        rank[automaton.transitions[order]],
        int(rank[automaton.initial]),
        automaton.accepting[order],
        automaton.alphabet,
    )
    other = renamed.minimised()
    assert (small.transitions == other.transitions).all()
    assert (small.accepting == other.accepting).all()
    assert small.initial == other.initial == 0


@pytest.mark.parametrize(
    ("pattern", "alphabet"),
    [*((p, "abc") for p in ("(ab)*c?", "a*b|c", "[ab]+", "(a|bc){2,3}", "")), (r"(\(\))*", "()")],
)
def test_a_regular_expression_is_pythons(pattern, alphabet):
    automaton = from_regex(pattern, alphabet)
    for n in range(6):
        words = all_words(len(alphabet), n)
        matches = [re.fullmatch(pattern, automaton.decode(word)) is not None for word in words]
        assert automaton.accepts(words).tolist() == matches


@given(automata(symbols=2), st.integers(0, 5))
@settings(max_examples=25)
def test_a_predicate_gives_its_words_of_that_length_only(automaton, length):
    said = {automaton.decode(word) for word in all_words(2, length) if automaton.accepts(word)}
    built = from_predicate(said.__contains__, "ab", length)
    for n in range(7):
        words = all_words(2, n)
        assert {built.decode(w) for w in words[built.accepts(words)]} == (said if n == length else set())
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
