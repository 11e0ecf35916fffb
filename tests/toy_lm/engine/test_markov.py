"""Markov models: rows, log-probabilities, orders, samples, errors."""

import numpy as np
import pytest
import torch
from hypothesis import given
from scipy.stats import chisquare
from support.toy_model_strategies import DYCK_BASE, models

from toy_lm import MarkovLM
from toy_lm.engine.enumeration import all_words

A, T = [0.7, 0.3], [[0.55, 0.45], [0.85, 0.15]]
LENGTH = 4


def test_a_word_by_hand():
    word = np.array([0, 1, 1, 0])
    assert np.exp(DYCK_BASE.log_prob(word)) == pytest.approx(0.7 * 0.45 * 0.15 * 0.85, rel=1e-15)


def test_contexts_are_read_oldest_first():
    rows = np.full((4, 2), 0.5)
    rows[1] = [0.9, 0.1]
    second = MarkovLM.from_probabilities(([[0.5, 0.5]], np.full((2, 2), 0.5)), rows)
    assert np.exp(second.log_prob(np.array([0, 1, 0]))) == pytest.approx(0.25 * 0.9)
    assert np.exp(second.log_prob(np.array([1, 0, 0]))) == pytest.approx(0.25 * 0.5)


@given(models(LENGTH, symbols=3))
def test_probabilities_of_all_words_sum_to_one(model):
    words = all_words(3, LENGTH)
    assert np.exp(model.log_prob(words)).sum() == pytest.approx(1, abs=1e-12)


@given(models(LENGTH))
def test_a_lifted_model_is_the_same_law(model):
    words = all_words(2, LENGTH)
    lifted = model.lifted(min(model.order + 1, LENGTH))
    assert lifted.length == model.length
    np.testing.assert_allclose(lifted.log_prob(words), model.log_prob(words), rtol=0, atol=1e-14)


def test_numpy_in_numpy_out_and_tensors_in_tensors_out():
    word = np.array([0, 1])
    assert isinstance(MarkovLM.from_probabilities(A, T).log_prob(word), np.float64)
    logits = torch.zeros(2, 2, dtype=torch.float64, requires_grad=True)
    value = MarkovLM.from_logits(torch.zeros(2), logits).log_prob(word)
    value.backward()
    assert logits.grad is not None
    assert logits.grad[0].tolist() == [-0.5, 0.5]
    assert logits.grad[1].tolist() == [0, 0]


def test_a_batch_is_many_models():
    batch = MarkovLM.random(3, 2, batch=(2, 5), seed=0)
    words = all_words(3, 3)
    together = batch.log_prob(words)
    assert together.shape == (2, 5, 27)
    np.testing.assert_array_equal(batch.member(1, 3).log_prob(words), together[1, 3])


def test_samples_have_the_law():
    model = MarkovLM.random(2, 2, length=LENGTH, seed=3)
    words = model.sample(20_000, seed=1)
    counts = np.bincount(words @ 2 ** np.arange(LENGTH)[::-1], minlength=16)
    expected = np.exp(model.log_prob(all_words(2, LENGTH)))
    assert chisquare(counts, 20_000 * expected).pvalue > 1e-3
    # A false neighbour: the law of another model is told apart.
    other = np.exp(MarkovLM.random(2, 2, length=LENGTH, seed=4).log_prob(all_words(2, LENGTH)))
    assert chisquare(counts, 20_000 * other).pvalue < 1e-6
    np.testing.assert_array_equal(words, model.sample(20_000, seed=np.random.default_rng(1)))


def test_impossible_symbols_are_never_drawn():
    model = MarkovLM.from_probabilities([1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]])
    assert (model.sample(50, seed=0, length=5) == [0, 1, 0, 1, 0]).all()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: MarkovLM.from_probabilities([0.7, 0.4], T), r"initial\[0\] sums to 1.1"),
        (lambda: MarkovLM.from_probabilities([1.5, -0.5], T), "not negative"),
        (lambda: MarkovLM.from_probabilities(A, [[0.5, 0.5]]), "transition.shape"),
        (lambda: MarkovLM.from_probabilities(([A],) * 2, T), r"initial\[1\].shape"),
        (lambda: MarkovLM.from_probabilities((), T), "initial"),
        (lambda: MarkovLM.from_probabilities(A, np.broadcast_to(T, (3, 2, 2, 2))), "transition.ndim"),
        (lambda: MarkovLM.random(2, 3, length=2, seed=0), "length=2"),
        (lambda: MarkovLM.random(0, seed=0), "vocabulary"),
        (lambda: MarkovLM.random(2, concentration=0.0, seed=0), "concentration=0"),
        (lambda: DYCK_BASE.sample(-1, 0, length=4), "count=-1"),
        (lambda: DYCK_BASE.sample(1, 0), "length=None"),
        (lambda: DYCK_BASE.lifted(2).lifted(1), "order=1"),
        (lambda: MarkovLM.random(2, length=3, seed=0).lifted(4), "order=4"),
        (lambda: MarkovLM.random(2, length=3, seed=0).sample(1, 0, length=4), "length=4"),
        (lambda: DYCK_BASE.log_prob(np.array([0, 2])), "words=2"),
        (lambda: DYCK_BASE.log_prob(np.array([], dtype=int)), "length=0"),
    ],
)
def test_errors(build, message):
    with pytest.raises(ValueError, match=message):
        build()
