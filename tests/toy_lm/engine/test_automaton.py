"""Validity automata: languages, counts, products, minimisation, errors."""

import numpy as np
import pytest
from automata.fa.dfa import DFA
from hypothesis import given, settings
from hypothesis import strategies as st
from support.toy_models import DYCK, automata

from toy_lm import ValidityAutomaton
from toy_lm.collapse.problem import all_words

LENGTHS = range(6)


def language(automaton: ValidityAutomaton) -> list[np.ndarray]:
    return [automaton.accepts(all_words(automaton.symbols, n)) for n in LENGTHS]


def from_library(automaton: ValidityAutomaton) -> DFA:
    states = range(automaton.states)
    return DFA(
        states=set(states),
        input_symbols=set(automaton.alphabet),
        transitions={
            s: dict(zip(automaton.alphabet, map(int, automaton.transitions[s]), strict=True)) for s in states
        },
        initial_state=automaton.initial,
        final_states={s for s in states if automaton.accepting[s]},
    )


def test_words_are_run_as_drawn():
    parity = ValidityAutomaton(np.array([[0, 1], [1, 0]]), 0, np.array([False, True]), ("a", "b"))
    words = np.array([[0, 0, 1], [1, 0, 1], [1, 1, 1]])
    assert parity.accepts(words).tolist() == [True, False, True]
    assert parity.decode(words[1]) == "bab"


@given(automata(), automata())
@settings(max_examples=25)
def test_products_and_complement_are_those_of_languages(left, right):
    for both, one, other in zip(language(left & right), language(left), language(right), strict=True):
        assert (both == (one & other)).all()
    for outside, one in zip(language(~left), language(left), strict=True):
        assert (outside == ~one).all()


@given(automata(symbols=2, most_states=7))
@settings(max_examples=25)
def test_minimisation_keeps_the_language_and_is_minimal(automaton):
    small = automaton.minimised()
    for before, after in zip(language(automaton), language(small), strict=True):
        assert (before == after).all()
    assert small.states == len(from_library(automaton).minify().states)


@given(automata(most_states=5), st.randoms(use_true_random=False))
def test_equal_languages_have_equal_minimal_automata(automaton, random):
    order = list(range(automaton.states))
    random.shuffle(order)
    rank = np.argsort(order)
    renamed = ValidityAutomaton(
        rank[automaton.transitions[order]],
        int(rank[automaton.initial]),
        automaton.accepting[order],
        automaton.alphabet,
    )
    one, other = automaton.minimised(), renamed.minimised()
    assert (one.transitions == other.transitions).all()
    assert (one.accepting == other.accepting).all()
    assert one.initial == other.initial == 0


def test_an_automaton_that_tells_nothing_apart_is_an_error():
    DYCK.require_informative(8)
    with pytest.raises(ValueError, match=r"length=7 .* accepts none"):
        DYCK.require_informative(7)
    with pytest.raises(ValueError, match=r"length=7 .* accepts all"):
        (~DYCK).require_informative(7)


TABLE, ACCEPT = np.array([[0, 1], [1, 0]]), np.array([True, False])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((TABLE[:1], 0, ACCEPT, ("a", "b")), "transitions.shape"),
        ((TABLE[:, :1], 0, ACCEPT, ("a", "b")), "transitions.shape"),
        ((TABLE + 1, 0, ACCEPT, ("a", "b")), "transitions=2"),
        ((TABLE.astype(float), 0, ACCEPT, ("a", "b")), "dtype"),
        ((TABLE, 2, ACCEPT, ("a", "b")), "initial=2"),
        ((TABLE, 0, ACCEPT, ("a", "a")), "alphabet"),
        ((TABLE, 0, ACCEPT, ("a", "bc")), "alphabet"),
    ],
)
def test_what_is_no_automaton_is_an_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        ValidityAutomaton(*arguments)


def test_errors_name_what_does_not_fit():
    other = ValidityAutomaton(TABLE, 0, ACCEPT, ("a", "b"))
    with pytest.raises(ValueError, match="alphabet"):
        DYCK & other
    with pytest.raises(ValueError, match="words=2"):
        DYCK.accepts(np.array([0, 2]))
    with pytest.raises(ValueError, match="length=-1"):
        DYCK.require_informative(-1)
