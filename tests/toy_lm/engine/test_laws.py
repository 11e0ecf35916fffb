"""Laws of words against the enumeration of every word, and against the laws on a prefix tree."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import rel_entr
from support.toy_models import DYCK, DYCK_BASE, DYCK_LENGTH, automata, bigrams, building

import dph_theory
from dph_theory.laws import law_divergence, law_validity
from dph_theory.laws import locally_filtered as tree_filtered
from dph_theory.laws import token_law as tree_law
from toy_lm import (
    MarkovLM,
    base_law,
    excess_kl,
    filtered_lm,
    from_regex,
    locally_filtered,
    m_projection,
    tilted_lm,
    token_law_kl,
    token_reverse,
    validity,
)
from toy_lm.collapse.problem import all_words

LENGTH = 4
AUTOMATON = from_regex("a*b(a|c)*c", "abc")


def enumerated(law):
    """Every word's probability."""
    found = []
    for word in all_words(law.automaton.symbols, law.length):
        state, context, product = law.automaton.initial, 0, 1.0
        for t, x in enumerate(word):
            product *= law.steps[t][state, context, x]
            state, context = law.automaton.transitions[state, x], x
        found.append(product)
    return np.array(found)


@st.composite
def cases(draw, policies=1):
    """(length, automaton, *models), some words valid and some not, every model with valid mass."""
    symbols, length = draw(st.integers(2, 3)), draw(st.integers(2, 5))
    automaton = draw(automata(symbols))
    with building():
        valid = automaton.accepts(all_words(symbols, length))
    assume(valid.any())
    assume(not valid.all())
    models = [draw(bigrams(length, symbols)) for _ in range(policies)]
    with building():
        possible = all(validity(model, automaton, length) > 0 for model in models)
    assume(possible)
    return (length, automaton, *models)


@given(cases(), st.floats(0.01, 10))
@settings(max_examples=25, deadline=None)
def test_the_laws_are_those_of_the_theory(case, beta):
    length, automaton, base = case
    words = all_words(automaton.symbols, length)
    plain, valid = np.exp(base.log_prob(words)), automaton.accepts(words)
    np.testing.assert_allclose(enumerated(base_law(base, automaton, length)), plain, atol=1e-14)
    assert validity(base, automaton, length) == pytest.approx(plain[valid].sum(), rel=1e-12)
    filtered, tilted = filtered_lm(base, automaton, length), tilted_lm(base, automaton, length, beta)
    target = dph_theory.filtered(plain, valid)
    np.testing.assert_allclose(enumerated(filtered), target, atol=1e-12)
    np.testing.assert_allclose(enumerated(tilted), dph_theory.tilted(plain, valid, beta), atol=1e-12)
    assert filtered.log_mass == pytest.approx(np.log(plain[valid].sum()), rel=1e-12, abs=1e-12)
    partition = np.log((plain * np.exp(valid / beta)).sum())
    assert tilted.log_mass == pytest.approx(partition, rel=1e-12, abs=1e-12)
    assert filtered.validity() == pytest.approx(1, rel=1e-12)
    assert filtered.entropy() == pytest.approx(-(target * np.log(np.where(target > 0, target, 1))).sum())
    word, log_prob = filtered.likeliest()
    assert np.exp(log_prob) == pytest.approx(target.max(), rel=1e-12)
    symbols = np.array([automaton.alphabet.index(symbol) for symbol in word])
    assert automaton.accepts(symbols)
    assert np.exp(base.log_prob(symbols)) == pytest.approx(plain[valid].max(), rel=1e-12)


@given(cases(policies=2))
@settings(max_examples=25, deadline=None)
def test_divergences_are_those_of_enumeration(case):
    length, automaton, policy, base = case
    words = all_words(automaton.symbols, length)
    p, a = (np.exp(model.log_prob(words)) for model in (policy, base))
    valid = automaton.accepts(words)
    assume(a[~valid].sum() > 0)
    parts = excess_kl(policy, base, automaton, length)
    wanted = dph_theory.excess_kl(p, a, valid)
    assert list(map(float, parts)) == pytest.approx(list(map(float, wanted)), rel=1e-9, abs=1e-12)
    assert parts.excess == pytest.approx(float(wanted.excess), rel=1e-9, abs=1e-12)
    ours, theirs = (filtered_lm(model, automaton, length) for model in (policy, base))
    wanted = rel_entr(dph_theory.filtered(p, valid), dph_theory.filtered(a, valid)).sum()
    assert token_law_kl(ours, theirs) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


TARGET = filtered_lm(DYCK_BASE, DYCK, DYCK_LENGTH)


def test_the_dyck_projection():
    projection = m_projection(TARGET)
    assert validity(projection, DYCK, DYCK_LENGTH) == pytest.approx(0.283393285806, rel=1e-10)
    assert projection.initial.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("homogeneous", [True, False])
def test_every_neighbour_of_the_projection_is_farther(homogeneous):
    def away(model):
        return token_law_kl(TARGET, base_law(model, DYCK, DYCK_LENGTH))

    best, rng = m_projection(TARGET, homogeneous=homogeneous), np.random.default_rng(0)
    assert best.homogeneous is homogeneous
    for _ in range(10):
        moved = np.exp(0.05 * rng.normal(size=best.transition.shape)) * best.transition
        other = MarkovLM(best.initial, moved / moved.sum(axis=-1, keepdims=True))
        assert away(other) > away(best)
    # A false neighbour: the target's table at one step in place of all steps' counts.
    (here, table), *_ = itertools.islice(zip(TARGET.course(), TARGET.steps, strict=False), 3, 4)
    counts = (here[..., None] * table).sum(axis=0)
    one = MarkovLM(best.initial, counts / counts.sum(axis=-1, keepdims=True))
    assert away(one) > away(best) + 0.01


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


def test_the_chains_are_the_laws_of_the_tree():
    base = MarkovLM.random(3, seed=1)
    tables, valid = trees(base)
    plain = base_law(base, AUTOMATON, LENGTH)
    for law, tree in (
        (token_reverse(base, AUTOMATON, LENGTH, 0.3), tree_law(tables, valid, 0.3)),
        (locally_filtered(base, AUTOMATON, LENGTH), tree_filtered(tables, valid)),
    ):
        assert token_law_kl(law, plain) == pytest.approx(law_divergence(tree, tables), rel=1e-12)
        assert law.validity() == pytest.approx(law_validity(tree, valid), rel=1e-12)


def test_pythagoras_for_the_locally_filtered_model():
    base = MarkovLM.random(3, seed=5)
    law, plain = filtered_lm(base, AUTOMATON, LENGTH), base_law(base, AUTOMATON, LENGTH)
    local = locally_filtered(base, AUTOMATON, LENGTH)
    assert token_law_kl(law, plain) == pytest.approx(-law.log_mass, rel=1e-12)
    more = token_law_kl(local, plain) - token_law_kl(law, plain)
    assert token_law_kl(local, law) == pytest.approx(more, rel=1e-10)
    assert token_law_kl(plain, law) == np.inf


def test_long_words_over_many_symbols():
    letters = "".join(map(chr, range(97, 129)))
    automaton = from_regex("(a|b|c)*(d|e).*", letters)
    base = MarkovLM.random(32, seed=1)
    local, filtered = (law(base, automaton, 512) for law in (locally_filtered, filtered_lm))
    assert local.validity() == pytest.approx(1, abs=1e-10)
    assert 0 <= token_law_kl(local, filtered) < 512 * np.log(32)
    near = token_reverse(base, automaton, 512, 0.01)
    # The other way round it is inf: at every beta the law keeps some mass on dead ends.
    assert token_law_kl(local, near) == pytest.approx(0, abs=1e-10)
    # One word of 512 that the base says with a probability no float can hold.
    rare = from_regex("ab" * 256, letters)
    assert filtered_lm(base, rare, 512).log_mass < -745


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"base.vocabulary=4 is not allowed: the automaton's 3"):
        locally_filtered(MarkovLM.random(4, seed=0), AUTOMATON, LENGTH)
    fitting = MarkovLM.random(3, seed=0)
    with pytest.raises(ValueError, match="beta"):
        token_reverse(fitting, AUTOMATON, LENGTH, 0.0)
    with pytest.raises(ValueError, match="beta"):
        tilted_lm(fitting, AUTOMATON, LENGTH, 0.0)
    with pytest.raises(ValueError, match="the same automaton"):
        token_law_kl(base_law(fitting, AUTOMATON, 3), base_law(fitting, AUTOMATON, LENGTH))
    with pytest.raises(ValueError, match="without batch axes"):
        base_law(MarkovLM.random(3, batch=(2,), seed=0), AUTOMATON, LENGTH)
    with pytest.raises(ValueError, match=r"length=7 .* accepts none"):
        filtered_lm(DYCK_BASE, DYCK, 7)
    only_open = MarkovLM.from_probabilities([1.0, 0.0], [[1.0, 0.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match=r"length=8 .* the base must give some valid word"):
        filtered_lm(only_open, DYCK, 8)
