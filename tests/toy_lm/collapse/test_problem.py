import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import dph_theory
from dph_theory import REVERSE_KL, alpha_divergence
from dph_theory.coverage import entropy
from toy_lm.collapse.problem import (
    HIGHEST_RATE,
    CollapseProblem,
    all_words,
    random_brackets,
    random_counts,
    reference,
)
from toy_lm.engine.builders import counting
from toy_lm.engine.markov import MarkovLM


@pytest.fixture(scope="module")
def problem():
    return reference()


def policies(problem, homogeneous, seed, rows=3):
    family = problem.family(homogeneous=homogeneous)
    theta = np.random.default_rng(seed).normal(size=(rows, family.size)) * 2
    theta = torch.from_numpy(theta)
    words = family.log_prob(family.rows(theta), torch.from_numpy(all_words(2, 8))).exp().numpy()
    return family, theta, problem.rows(family)[np.zeros(rows, dtype=int)], words


WORDS = all_words(2, 8)


def test_the_reference_has_the_published_facts(problem):
    assert len(problem.valid_words) == 14
    assert problem.base_rates[0] == pytest.approx(0.0455, abs=5e-5)
    assert entropy(problem.targets)[0] == pytest.approx(2.067, abs=5e-4)
    assert np.exp(entropy(problem.targets)[0]) == pytest.approx(7.9, abs=5e-4)
    assert problem.automaton.decode(problem.valid_words[problem.targets[0].argmax()]) == "()()()()"
    np.testing.assert_allclose(problem.targets.sum(-1), 1, rtol=1e-13)


@settings(max_examples=10, deadline=None)
@given(homogeneous=st.booleans(), seed=st.integers(0, 999), beta=st.floats(0.05, 5))
def test_the_reverse_kl_objective_is_the_divergence_to_the_tilted_model(problem, homogeneous, seed, beta):
    family, theta, base, words = policies(problem, homogeneous, seed)
    value = problem.reverse_kl(family)(theta, base, torch.full((3,), 1 / beta, dtype=torch.float64))
    plain, valid = np.exp(problem.bases.log_prob(WORDS))[0], problem.automaton.accepts(WORDS)
    log_mass = np.log((plain * np.exp(valid / beta)).sum())
    wanted = REVERSE_KL(words, dph_theory.tilted(plain, valid, beta)) - log_mass
    np.testing.assert_allclose(value, wanted, rtol=1e-9, atol=1e-9)


@settings(max_examples=10, deadline=None)
@given(homogeneous=st.booleans(), seed=st.integers(0, 999), alpha=st.floats(0.05, 0.95))
def test_the_alpha_objective_is_the_divergence_to_the_filtered_model(problem, homogeneous, seed, alpha):
    family, theta, base, words = policies(problem, homogeneous, seed)
    plain, valid = np.exp(problem.bases.log_prob(WORDS))[0], problem.automaton.accepts(WORDS)
    wanted = alpha_divergence(alpha)(words, dph_theory.filtered(plain, valid))
    np.testing.assert_allclose(problem.alpha(family, alpha)(theta, base), wanted, rtol=1e-9, atol=1e-10)


def test_the_reward_objective_is_the_negative_pass_rate(problem):
    family, theta, base, words = policies(problem, True, 3)
    passed = words[:, problem.automaton.accepts(WORDS)].sum(axis=1)
    np.testing.assert_allclose(problem.reward(family)(theta, base), -passed, rtol=1e-12)
    assert problem.validity(family, theta[1]) == pytest.approx(passed[1])


@pytest.mark.parametrize(("make", "words"), [(random_brackets, 14), (random_counts, 90)])
def test_random_bases_are_reproducible_and_poor(make, words):
    problem, again, other = make(5, 7), make(5, 7), make(5, 8)
    assert problem.cases == 5
    assert len(problem.valid_words) == words
    assert (problem.base_rates < HIGHEST_RATE).all()
    assert len(set(problem.base_rates)) == 5
    np.testing.assert_array_equal(problem.base_rates, again.base_rates)
    assert not np.allclose(problem.base_rates, other.base_rates)


def test_counts_say_every_letter_twice():
    problem = random_counts(1, 0)
    assert all(sorted(problem.automaton.decode(word)) == list("aabbcc") for word in problem.valid_words)


def test_bad_problems_are_refused(problem):
    everything = counting("()", "(")
    with pytest.raises(ValueError, match="accepts all"):
        CollapseProblem("all", problem.bases, everything, 8)
    with pytest.raises(ValueError, match="one batch axis"):
        CollapseProblem("one", MarkovLM.random(2, seed=0), problem.automaton, 8)
    with pytest.raises(ValueError, match="at most 7"):
        all_words(2, 3, at_most=7)
