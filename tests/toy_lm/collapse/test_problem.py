import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import dph_theory
from dph_theory import REVERSE_KL, alpha_divergence
from toy_lm.collapse.measure import targets
from toy_lm.collapse.problem import (
    HIGHEST_RATE,
    CollapseProblem,
    all_words,
    random_brackets,
    random_counts,
    reference,
)
from toy_lm.engine.markov import MarkovLM

WORDS = all_words(2, 8)


@pytest.fixture(scope="module")
def problem():
    return reference()


def test_the_reference_has_the_published_facts(problem):
    (line,) = targets(problem)
    assert len(problem.valid_words) == 14
    assert problem.base_rates[0] == line["base_rate"] == pytest.approx(0.0455, abs=5e-5)
    assert line["entropy"] == pytest.approx(2.067, abs=5e-4)
    assert line["effective"] == pytest.approx(np.exp(line["entropy"])) == pytest.approx(7.9, abs=5e-4)
    assert line["initial"] == pytest.approx([0.7, 0.3])
    assert line["transition"] == [pytest.approx([0.55, 0.45]), pytest.approx([0.85, 0.15])]
    assert (line["top_share"], line["top_word"]) == (problem.targets.max(), "()()()()")
    np.testing.assert_allclose(problem.targets.sum(-1), 1, rtol=1e-13)


@settings(max_examples=10, deadline=None)
@given(st.booleans(), st.integers(0, 999), st.floats(0.05, 5), st.floats(0.05, 0.95))
def test_objectives_are_divergences_and_the_pass_rate(problem, homogeneous, seed, beta, alpha):
    family, rows = problem.family(homogeneous=homogeneous), np.zeros(3, dtype=int)
    theta = torch.from_numpy(2 * np.random.default_rng(seed).normal(size=(3, family.size)))
    words = family.log_prob(family.rows(theta), torch.from_numpy(WORDS)).exp().numpy()
    base, strength = problem.rows(family)[rows], torch.full((3,), 1 / beta, dtype=torch.float64)
    plain, valid = np.exp(problem.bases.log_prob(WORDS))[0], problem.automaton.accepts(WORDS)
    log_mass = np.log((plain * np.exp(valid / beta)).sum())
    wanted = REVERSE_KL(words, dph_theory.tilted(plain, valid, beta)) - log_mass
    found = problem.reverse_kl(family)(theta, base, strength)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    wanted = alpha_divergence(alpha)(words, dph_theory.filtered(plain, valid))
    np.testing.assert_allclose(problem.alpha(family, alpha)(theta, base), wanted, rtol=1e-9, atol=1e-10)
    passed = words[:, valid].sum(axis=1)
    np.testing.assert_allclose(problem.reward(family)(theta, base), -passed, rtol=1e-12)
    assert problem.pass_rate(family, theta[1]) == pytest.approx(passed[1])


@pytest.mark.parametrize(("make", "words"), [(random_brackets, 14), (random_counts, 90)])
def test_random_bases_are_reproducible_and_poor(make, words):
    problem, again, other = make(5, 7), make(5, 7), make(5, 8)
    assert (problem.cases, len(problem.valid_words)) == (5, words)
    assert (problem.base_rates < HIGHEST_RATE).all()
    assert len(set(problem.base_rates)) == 5
    np.testing.assert_array_equal(problem.base_rates, again.base_rates)
    assert not np.allclose(problem.base_rates, other.base_rates)
    if make is random_counts:
        assert {"".join(sorted(problem.automaton.decode(y))) for y in problem.valid_words} == {"aabbcc"}


def test_bad_problems_are_refused(problem):
    with pytest.raises(ValueError, match="one batch axis"):
        CollapseProblem("one", MarkovLM.random(2, seed=0), problem.automaton, 8)
    with pytest.raises(ValueError, match="at most 7"):
        all_words(2, 3, at_most=7)
