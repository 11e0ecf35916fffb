import numpy as np
import pytest

from dph_theory.theorems import d01


def test_three_of_ten_correct_and_four_draws():
    counts = {"k": np.array([4]), "spare": np.array([6]), "correct": np.array([3])}
    assert d01.product_form(**counts) == pytest.approx(5 / 6, rel=1e-14)
    assert d01.binomial_form(**counts) == pytest.approx(5 / 6, rel=1e-14)


def test_too_few_failures_make_it_certain():
    counts = {"k": np.array([4]), "spare": np.array([6]), "correct": np.array([7])}
    assert d01.product_form(**counts).tolist() == [1.0]
    assert d01.binomial_form(**counts).tolist() == [1.0]


def test_the_plug_in_estimate_is_biased_downwards():
    instance = {"p": np.array([0.3]), "k": np.array([4]), "spare": np.array([4])}
    assert d01.expected_estimate(**instance) == pytest.approx(1 - 0.7**4, rel=1e-13)
    assert d01.expected_plug_in(**instance) < 1 - 0.7**4 - 0.01


def test_a_prompt_set_is_averaged_after_the_draws():
    p, k = np.array([[0.1, 0.3, 0.6]]), np.array([4])
    expected = 1 - (0.9**4 + 0.7**4 + 0.4**4) / 3
    assert d01.chance_of_some_success(p, k) == pytest.approx(expected, rel=1e-13)
    assert d01.of_mean_rate(p, k) > expected + 0.1
