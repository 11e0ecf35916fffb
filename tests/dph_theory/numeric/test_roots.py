"""Roots of many rising functions at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dph_theory.numeric.roots import newton_root, rising_root


def test_each_entry_has_the_root_of_its_own_row():
    targets = np.array([[2.0, 50.0], [1e-9, 8.0]])

    def cube_beyond(x, rows):
        return x**3 - rows[:, 0]

    found = rising_root(cube_beyond, np.zeros((2, 2)), np.full((2, 2), 10.0), targets[..., None])
    assert_allclose(found, np.cbrt(targets), rtol=1e-14)


def test_a_root_that_rounding_moved_past_an_end_is_that_end():
    shifts = np.array([[-1e-17], [1.0 + 1e-15]])
    found = rising_root(lambda x, rows: x - rows[:, 0], np.zeros(2), np.ones(2), shifts)
    assert found.tolist() == [0.0, 1.0]


def test_newtons_method_finds_roots_of_any_size_from_above_or_says_that_it_has_no_end():
    targets = np.array([0.0, 1e-30, 1.0, 1e30])

    def step(x):  # x^2 - target, convex for x > 0
        return np.minimum((targets - x * x) / np.where(x > 0, 2 * x, 1.0), 0.0)

    assert_allclose(newton_root(step, np.maximum(targets, np.sqrt(targets))), np.sqrt(targets), rtol=1e-15)
    with pytest.raises(ArithmeticError, match="not ended after 200 steps"):
        newton_root(lambda x: -x / 2, np.ones(1))
