"""The filtered and tilted models: laws, conditionals, samples, errors."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from support.toy_model_strategies import DYCK, DYCK_BASE, DYCK_LENGTH, cases

from toy_lm import Enumerated, MarkovLM, ValidityAutomaton, filtered_lm, kl, tilted_lm
from toy_lm.engine import exact
from toy_lm.engine.enumeration import all_words
from toy_lm.engine.tilting import ProductLM, anything


@given(cases(policies=1), st.floats(0.01, 10))
@settings(max_examples=15)
def test_the_laws_are_those_of_the_theory(case, beta):
    length, automaton, base = case
    words, reference = all_words(automaton.symbols, length), Enumerated.of(base, automaton, length)
    assume(reference.validity() > 0)
    assume(not reference.valid.all())
    tilted = np.exp(tilted_lm(base, automaton, length, beta).log_prob(words))
    np.testing.assert_allclose(tilted, reference.tilted(beta).probabilities, rtol=0, atol=1e-12)
    filtered = np.exp(filtered_lm(base, automaton, length).log_prob(words))
    np.testing.assert_allclose(filtered, reference.filtered().probabilities, rtol=0, atol=1e-12)


@given(cases(policies=1))
@settings(max_examples=15)
def test_conditionals_multiply_to_the_law(case):
    length, automaton, base = case
    assume(0 < automaton.count(length) < automaton.symbols**length)
    assume(exact.validity(base, automaton, length) > 0)
    law = filtered_lm(base, automaton, length)
    for word in all_words(automaton.symbols, length)[::7]:
        state, context, product = automaton.initial, 0, 1.0
        for t, x in enumerate(word):
            table = law.conditional(t)
            np.testing.assert_allclose(table.sum(-1)[table.sum(-1) > 0], 1, rtol=0, atol=1e-12)
            product *= table[state, context, x]
            state = automaton.transitions[state, x]
            context = (context * automaton.symbols + x) % automaton.symbols ** min(t + 1, base.order)
        assert product == pytest.approx(np.exp(law.log_prob(word)), abs=1e-12)


@pytest.mark.parametrize("beta", [None, 0.3])
def test_samples_have_the_law_without_rejection(beta):
    law = (
        filtered_lm(DYCK_BASE, DYCK, DYCK_LENGTH)
        if beta is None
        else tilted_lm(DYCK_BASE, DYCK, DYCK_LENGTH, beta)
    )
    words = law.sample(20_000, seed=2)
    valid = DYCK.accepts(words)
    assert valid.all() if beta is None else not valid.all()
    counts = np.bincount(words @ 2 ** np.arange(DYCK_LENGTH)[::-1], minlength=256)
    expected = 20_000 * np.exp(law.log_prob(all_words(2, DYCK_LENGTH)))
    assert counts[expected == 0].sum() == 0
    common = expected >= 5
    observed = np.append(counts[common], counts[~common].sum())
    awaited = np.append(expected[common], expected[~common].sum())
    keep = awaited > 0
    assert chisquare(observed[keep], awaited[keep]).pvalue > 1e-3


def test_batches_go_through():
    base = MarkovLM.random(2, batch=(3,), seed=0)
    law = filtered_lm(base, DYCK, 6)
    words = law.sample(10, seed=0)
    assert words.shape == (3, 10, 6)
    assert DYCK.accepts(words).all()
    one = filtered_lm(base.member(2), DYCK, 6)
    np.testing.assert_allclose(law.log_prob(words)[2], one.log_prob(words), rtol=1e-13)


def test_the_log_mass_is_the_log_partition_function():
    rate = exact.validity(DYCK_BASE, DYCK, DYCK_LENGTH)
    assert tilted_lm(DYCK_BASE, DYCK, DYCK_LENGTH, 0.5).log_mass.item() == pytest.approx(
        np.log(1 - rate + rate * np.exp(2)), rel=1e-14
    )


@pytest.mark.parametrize("make", [filtered_lm, lambda *of: tilted_lm(*of, 0.5)])
def test_an_automaton_that_tells_nothing_apart_makes_no_model(make):
    # A model of tensors too, whose mass is not looked at.
    for base in (DYCK_BASE, MarkovLM.from_logits(torch.zeros(2), torch.zeros(2, 2))):
        for automaton, what in ((DYCK, "none"), (~DYCK, "all")):
            with pytest.raises(ValueError, match=f"length=7 .* accepts {what}"):
                make(base, automaton, 7)


def test_automata_over_other_letters_are_not_the_same():
    renamed = ValidityAutomaton(DYCK.transitions, DYCK.initial, DYCK.accepting, ("a", "b"))
    with pytest.raises(ValueError, match="over the same automaton"):
        kl(filtered_lm(DYCK_BASE, DYCK, 8), filtered_lm(DYCK_BASE, renamed, 8))


def test_errors():
    only_open = MarkovLM.from_probabilities([1.0, 0.0], [[1.0, 0.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match=r"length=8 .* the base must give some valid word"):
        filtered_lm(only_open, DYCK, 8)
    with pytest.raises(ValueError, match="beta=0"):
        tilted_lm(DYCK_BASE, DYCK, 8, 0.0)
    with pytest.raises(ValueError, match=r"beta=1e-320 .* 1/beta"):
        tilted_lm(DYCK_BASE, DYCK, 8, 1e-320)
    with pytest.raises(ValueError, match=r"length=9 .* inhomogeneous"):
        filtered_lm(MarkovLM.random(2, length=8, seed=0), DYCK, 9)
    with pytest.raises(ValueError, match="length=6"):
        filtered_lm(DYCK_BASE, DYCK, 8).log_prob(np.zeros(6, dtype=int))
    with pytest.raises(ValueError, match="length=None"):
        kl(DYCK_BASE, DYCK_BASE)
    with pytest.raises(ValueError, match="automaton"):
        kl(filtered_lm(DYCK_BASE, DYCK, 8), ProductLM.of(DYCK_BASE, anything(2), 8))
