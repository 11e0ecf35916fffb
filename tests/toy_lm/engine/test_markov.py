"""Probabilities of words, and pass rates against the enumeration of every word."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.toy_models import automata, bigrams, building

from toy_lm import MarkovLM, from_regex, pass_rate
from toy_lm.collapse.problem import all_words


@st.composite
def cases(draw):
    """(length, automaton, two models), some words valid and some not, every model with valid mass."""
    symbols, length = draw(st.integers(2, 3)), draw(st.integers(2, 5))
    automaton = draw(automata(symbols))
    with building():
        valid = automaton.accepts(all_words(symbols, length))
    assume(valid.any())
    assume(not valid.all())
    models = [draw(bigrams(symbols)) for _ in range(2)]
    with building():
        possible = all(pass_rate(model, automaton, length) > 0 for model in models)
    assume(possible)
    return (length, automaton, *models)


@given(cases())
@settings(max_examples=25, deadline=None)
def test_a_pass_rate_is_that_of_enumeration(case):
    length, automaton, *models = case
    words = all_words(automaton.symbols, length)
    valid = automaton.accepts(words)
    for model in models:
        p = np.exp(model.log_prob(words))
        assert pass_rate(model, automaton, length) == pytest.approx(p[valid].sum(), rel=1e-12)


def test_a_batch_of_models_gives_words_the_products_of_their_steps_and_the_seed_decides():
    model, again, other = (MarkovLM.random(3, batch=(2,), seed=seed) for seed in (1, 1, 2))
    words = all_words(3, 4)
    found = np.exp(model.log_prob(words))
    np.testing.assert_allclose(found.sum(axis=-1), 1, rtol=1e-12)
    # Of the word babc.
    product = model.initial[1, 1] * np.prod(model.transition[1, [1, 0, 1], [0, 1, 2]])
    assert found[1, (words == [1, 0, 1, 2]).all(axis=1)] == pytest.approx(product)
    np.testing.assert_array_equal(model.transition, again.transition)
    assert not np.allclose(model.transition, other.transition)


def test_long_words_over_many_symbols():
    letters = "".join(map(chr, range(97, 129)))
    automaton = from_regex("(a|b|c)*(d|e).*", letters)
    rate = pass_rate(MarkovLM.random(32, seed=1), automaton, 512)
    assert 0 < rate < 1
    uniform = MarkovLM(np.full(32, 1 / 32), np.full((32, 32), 1 / 32))
    assert pass_rate(uniform, automaton, 512) == pytest.approx(2 / 29, rel=1e-9)
