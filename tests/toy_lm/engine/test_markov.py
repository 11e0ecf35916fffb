"""Bigram models: shapes, words, errors."""

import numpy as np
import pytest

from toy_lm import MarkovLM
from toy_lm.collapse.problem import all_words


def test_words_have_the_products_of_their_steps_and_the_seed_decides():
    model, again, other = (MarkovLM.random(3, batch=(2,), seed=seed) for seed in (1, 1, 2))
    words = all_words(3, 4)
    found = np.exp(model.log_prob(words))
    np.testing.assert_allclose(found.sum(axis=-1), 1, rtol=1e-12)
    first, *after = words[17]
    product = model.initial[1, first]
    for last, symbol in zip([first, *after[:-1]], after, strict=True):
        product *= model.transition[1, last, symbol]
    assert found[1, 17] == pytest.approx(product)
    np.testing.assert_array_equal(model.transition, again.transition)
    assert not np.allclose(model.transition, other.transition)


@pytest.mark.parametrize(
    ("initial", "transition", "message"),
    [
        ([0.5, 0.5], [[0.5, 0.5]], r"transition.shape=\(1, 2\)"),
        ([[0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]], "transition.shape"),
        ([0.5, 0.6], [[0.5, 0.5], [0.5, 0.5]], "initial"),
        ([0.5, 0.5], [[0.5, 0.6], [0.5, 0.5]], "transition"),
    ],
)
def test_what_is_no_model_is_an_error(initial, transition, message):
    with pytest.raises(ValueError, match=message):
        MarkovLM.from_probabilities(initial, transition)


def test_there_is_a_symbol():
    with pytest.raises(ValueError, match="vocabulary=0"):
        MarkovLM.random(0, seed=0)
