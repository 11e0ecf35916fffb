"""Validity automata: languages, counts, products, minimisation, errors."""

import numpy as np
import pytest
from automata.fa.dfa import DFA
from hypothesis import given, settings
from hypothesis import strategies as st
from support.toy_models import DYCK, automata

from toy_lm import ValidityAutomaton, counting
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
def test_products_are_those_of_languages(left, right):
    for both, one, other in zip(language(left & right), language(left), language(right), strict=True):
        assert (both == (one & other)).all()


@given(automata(symbols=2, most_states=7), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_minimisation_keeps_the_language_is_minimal_and_does_not_depend_on_the_states_order(
    automaton, random
):
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


TABLE, ACCEPT = np.array([[0, 1], [1, 0]]), np.array([True, False])


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: ValidityAutomaton(TABLE[:1], 0, ACCEPT, ("a", "b")), "transitions.shape"),
        (lambda: ValidityAutomaton(TABLE[:, :1], 0, ACCEPT, ("a", "b")), "transitions.shape"),
        (lambda: ValidityAutomaton(TABLE + 1, 0, ACCEPT, ("a", "b")), "transitions=2"),
        (lambda: ValidityAutomaton(TABLE.astype(float), 0, ACCEPT, ("a", "b")), "dtype"),
        (lambda: ValidityAutomaton(TABLE, 2, ACCEPT, ("a", "b")), "initial=2"),
        (lambda: ValidityAutomaton(TABLE, 0, ACCEPT, ("a", "a")), "alphabet"),
        (lambda: ValidityAutomaton(TABLE, 0, ACCEPT, ("a", "bc")), "alphabet"),
        (lambda: DYCK & ValidityAutomaton(TABLE, 0, ACCEPT, ("a", "b")), "alphabet"),
        (lambda: DYCK.accepts(np.array([0, 2])), "words=2"),
        (lambda: DYCK.require_informative(-1), "length=-1"),
        (lambda: DYCK.require_informative(7), r"length=7 .* accepts none"),
        (lambda: counting("()", "(").require_informative(7), r"length=7 .* accepts all"),
    ],
)
def test_errors_name_what_does_not_fit(made, message):
    with pytest.raises(ValueError, match=message):
        made()
