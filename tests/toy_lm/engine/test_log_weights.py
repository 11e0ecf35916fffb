"""Products of powers: zeros, orders, what they answer in."""

import numpy as np
import torch
from support.toy_model_strategies import DYCK_BASE

from toy_lm import MarkovLM
from toy_lm.engine.log_weights import Powers


def test_powers_multiply_and_zeros_stay_zeros():
    sparse = MarkovLM.from_probabilities([1.0, 0.0], [[0.25, 0.75], [0.5, 0.5]])
    both = Powers((sparse, DYCK_BASE), (-1.0, 2.0))
    assert both.log_step(0).tolist() == [[np.log(0.7) * 2, -np.inf]]
    expected = 2 * np.log([[0.55, 0.45], [0.85, 0.15]]) - np.log([[0.25, 0.75], [0.5, 0.5]])
    np.testing.assert_allclose(both.log_step(5), expected, rtol=1e-15)
    assert (both.vocabulary, both.order, both.differentiable) == (2, 1, False)


def test_an_exponent_of_zero_leaves_the_support():
    sparse = MarkovLM.from_probabilities([1.0, 0.0], [[1.0, 0.0], [0.5, 0.5]])
    weights = Powers((sparse,), (0.0,))
    assert weights.log_step(1).tolist() == [[0.0, -np.inf], [0.0, 0.0]]


def test_one_model_of_tensors_makes_the_product_differentiable():
    fixed = MarkovLM.random(2, length=4, seed=0)
    tensor = MarkovLM.from_logits(torch.zeros(2), torch.zeros(2, 2))
    assert Powers((fixed, tensor), (1.0, 1.0)).differentiable
