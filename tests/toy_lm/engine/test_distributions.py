"""Laws of words against the enumeration of every word, and against the laws on a prefix tree."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import rel_entr
from support.toy_models import automata, bigrams, building

import dph_theory
from dph_theory.stationary import locally_filtered as tree_filtered
from dph_theory.stationary import policy_divergence, table_pass_rate
from toy_lm import (
    MarkovLM,
    base_distribution,
    filtered_lm,
    from_regex,
    locally_filtered,
    pass_rate,
    token_distribution_kl,
)
from toy_lm.collapse.problem import all_words

LENGTH = 4
AUTOMATON = from_regex("a*b(a|c)*c", "abc")


def accepted(law):
    """The probability that the automaton accepts."""
    *_, last = law.course()
    return last[law.automaton.accepting].sum()


def enumerated(law):
    """Every word's probability."""
    found = []
    for word in all_words(law.automaton.symbols, len(law.steps)):
        state, context, product = law.automaton.initial, 0, 1.0
        for t, x in enumerate(word):
            product *= law.steps[t][state, context, x]
            state, context = law.automaton.transitions[state, x], x
        found.append(product)
    return np.array(found)


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
def test_laws_and_divergences_are_those_of_enumeration(case):
    length, automaton, policy, base = case
    words = all_words(automaton.symbols, length)
    p, a = (np.exp(model.log_prob(words)) for model in (policy, base))
    valid = automaton.accepts(words)
    plain, ours, theirs = (
        base_distribution(base, automaton, length),
        *(filtered_lm(model, automaton, length) for model in (policy, base)),
    )
    np.testing.assert_allclose(enumerated(plain), a, atol=1e-14)
    np.testing.assert_allclose(enumerated(theirs), dph_theory.filtered(a, valid), atol=1e-12)
    assert pass_rate(base, automaton, length) == pytest.approx(a[valid].sum(), rel=1e-12)
    assert (accepted(plain), accepted(theirs)) == pytest.approx((a[valid].sum(), 1), rel=1e-12)
    # E_{p_*} log(p_*/a) = -log A1.
    assert token_distribution_kl(theirs, plain) == pytest.approx(-np.log(a[valid].sum()), rel=1e-9, abs=1e-12)
    wanted = rel_entr(dph_theory.filtered(p, valid), dph_theory.filtered(a, valid)).sum()
    assert token_distribution_kl(ours, theirs) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def trees(base):
    """The bigram base and the verifier as tables on a prefix tree."""
    V, tables = base.vocabulary, []
    for t in range(LENGTH):
        table = np.empty((V,) * (t + 1))
        for prefix in itertools.product(range(V), repeat=t):
            table[prefix] = base.step(t)[prefix[-1] if prefix else 0]
        tables.append(table)
    words = np.array(list(itertools.product(range(V), repeat=LENGTH)))
    return tables, AUTOMATON.accepts(words).reshape((V,) * LENGTH)


def test_the_locally_filtered_model_is_that_of_the_tree_and_pythagoras_holds():
    base = MarkovLM.random(3, seed=1)
    tables, valid = trees(base)
    plain, filtered = base_distribution(base, AUTOMATON, LENGTH), filtered_lm(base, AUTOMATON, LENGTH)
    local, tree = locally_filtered(base, AUTOMATON, LENGTH), tree_filtered(tables, valid)
    assert token_distribution_kl(local, plain) == pytest.approx(policy_divergence(tree, tables), rel=1e-12)
    assert accepted(local) == pytest.approx(table_pass_rate(tree, valid), rel=1e-12)
    more = token_distribution_kl(local, plain) - token_distribution_kl(filtered, plain)
    assert token_distribution_kl(local, filtered) == pytest.approx(more, rel=1e-10)
    assert token_distribution_kl(plain, filtered) == np.inf


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
    base = MarkovLM.random(32, seed=1)
    local, filtered = (law(base, automaton, 512) for law in (locally_filtered, filtered_lm))
    assert accepted(local) == pytest.approx(1, abs=1e-10)
    assert 0 <= token_distribution_kl(local, filtered) < 512 * np.log(32)
    # One word of 512 that the base says with a probability no float can hold.
    few, rare = MarkovLM.random(8, seed=1), from_regex("ab" * 256, letters[:8])
    assert token_distribution_kl(filtered_lm(few, rare, 512), base_distribution(few, rare, 512)) > 745
