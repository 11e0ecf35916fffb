"""The most probable valid words in order, and distinct valid words for any number of draws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.toy_model_strategies import DYCK, DYCK_BASE, cases

from dph_theory import expected_distinct_valid
from toy_lm import MarkovLM, distinct_valid, most_probable, top_valid
from toy_lm.engine.enumeration import all_words


@given(cases(policies=1))
@settings(max_examples=20)
def test_all_valid_words_come_in_order(case):
    length, automaton, policy = case
    words = all_words(automaton.symbols, length)
    log_p = policy.log_prob(words[automaton.accepts(words)])
    found = list(most_probable(policy, automaton, length))
    expected = np.sort(log_p[log_p > -np.inf])[::-1]
    np.testing.assert_allclose([word.log_prob for word in found], expected, rtol=0, atol=1e-12)
    for word in found:
        assert automaton.accepts(word.symbols)
        assert policy.log_prob(word.symbols) == pytest.approx(word.log_prob, abs=1e-12)
    assert len({tuple(word.symbols) for word in found}) == len(found)


def test_the_dyck_words():
    (top,) = top_valid(DYCK_BASE, DYCK, 8)
    assert DYCK.decode(top.symbols) == "()()()()"
    assert top.log_prob == pytest.approx(np.log(0.7 * 0.45**4 * 0.85**3))
    assert len(top_valid(DYCK_BASE, DYCK, 8, 100)) == 14
    assert top_valid(DYCK_BASE, DYCK, 7) == []


@given(cases(policies=1), st.sampled_from([1, 2, 3, 7, 64, 1000]))
@settings(max_examples=30)
def test_distinct_words_are_the_direct_sum(case, k):
    length, automaton, policy = case
    words = all_words(automaton.symbols, length)
    valid, q = automaton.accepts(words), np.exp(policy.log_prob(words))
    expected = expected_distinct_valid(q, valid, k) if valid.any() else 0.0
    assert distinct_valid(policy, automaton, length, k) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_distinct_words_among_more_than_can_be_enumerated():
    # Uniform over 2^60 words, half of them valid, each of probability 2^-60: n (1 - (1 - 1/2n)^k), n = 2^59.
    uniform = MarkovLM.from_probabilities([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]])
    parity = type(DYCK)(np.array([[0, 1], [1, 0]]), 0, np.array([True, False]), ("a", "b"))
    for k in (1, 2, 1000, 10**6):
        expected = -(2.0**59) * np.expm1(k * np.log1p(-(2.0**-60)))
        assert distinct_valid(uniform, parity, 60, k) == pytest.approx(expected, rel=1e-12)


def test_one_likely_word_among_many_rare_ones():
    sharp = MarkovLM.from_probabilities([0.999, 0.001], [[0.001, 0.999], [0.999, 0.001]])
    words = all_words(2, 14)
    q, valid = np.exp(sharp.log_prob(words)), DYCK.accepts(words)
    for k in (1, 10, 300):
        expected = expected_distinct_valid(q, valid, k)
        assert distinct_valid(sharp, DYCK, 14, k) == pytest.approx(expected, rel=1e-12)


def test_errors():
    with pytest.raises(ValueError, match="k=0"):
        distinct_valid(DYCK_BASE, DYCK, 8, 0)
    with pytest.raises(ValueError, match="k=0"):
        top_valid(DYCK_BASE, DYCK, 8, 0)
    with pytest.raises(ValueError, match=r"policy.batch=\(2,\)"):
        most_probable(MarkovLM.random(2, batch=(2,), seed=0), DYCK, 8)
    with pytest.raises(ValueError, match=r"policy.batch=\(2,\)"):
        distinct_valid(MarkovLM.random(2, batch=(2,), seed=0), DYCK, 8, 4)
