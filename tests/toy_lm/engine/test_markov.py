"""Bigram models: shapes, words, errors."""

import numpy as np
import pytest

from toy_lm import MarkovLM
from toy_lm.collapse.problem import all_words


@pytest.mark.parametrize("length", [None, 4])
def test_words_have_the_products_of_their_steps(length):
    model = MarkovLM.random(3, length=length, batch=(2,), seed=1)
    words = all_words(3, 4)
    found = np.exp(model.log_prob(words))
    np.testing.assert_allclose(found.sum(axis=-1), 1, rtol=1e-12)
    word, product = words[17], model.initial[1, words[17, 0]]
    for t in range(1, 4):
        product *= model.step(t)[1, word[t - 1], word[t]]
    assert found[1, 17] == pytest.approx(product)
    np.testing.assert_array_equal(model.member(1).log_prob(words), model.log_prob(words)[1])
    assert (model.homogeneous, model.length) == (length is None, length)


def test_the_seed_decides():
    one, again, other = (MarkovLM.random(2, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.transition, again.transition)
    assert not np.allclose(one.transition, other.transition)


@pytest.mark.parametrize(
    ("initial", "transition", "message"),
    [
        ([0.5, 0.5], [[0.5, 0.5]], r"transition.shape=\(1, 2\)"),
        ([[0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]], "transition.shape"),
        ([0.5, 0.6], [[0.5, 0.5], [0.5, 0.5]], "initial"),
        ([0.5, 0.5], [[0.5, 0.6], [0.5, 0.5]], "transition"),
        ([0.5, 0.5], np.full((1, 1, 2, 2), 0.5), r"transition.ndim=4"),
    ],
)
def test_what_is_no_model_is_an_error(initial, transition, message):
    with pytest.raises(ValueError, match=message):
        MarkovLM.from_probabilities(initial, transition)


def test_words_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"length=5 .* words of length 4"):
        MarkovLM.random(2, length=4, seed=0).log_prob(np.zeros(5, dtype=int))
    with pytest.raises(ValueError, match="vocabulary=0"):
        MarkovLM.random(0, seed=0)
