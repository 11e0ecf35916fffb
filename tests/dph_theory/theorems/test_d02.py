import numpy as np
import pytest

from dph_theory import coverage
from dph_theory.theorems import d02

Q, K = np.array([[0.48, 0.32, 0.2]]), np.array([4])
VALID = np.array([[True, True, False]])


def test_the_law_the_uniform_one_and_the_dirac():
    assert d02.by_enumeration(Q, VALID, K) == pytest.approx(1.71307008, rel=1e-13)
    dirac, law = d02.dirac_then_law(Q, K)[0]
    assert (dirac, law) == pytest.approx((0.9984, 1.71307008), rel=1e-13)
    assert d02.distinct_if_uniform(Q, K) == pytest.approx(1.7408, rel=1e-13)


def test_the_t_transform_keeps_the_mass_and_half_of_it_is_uniform():
    half = coverage.averaged(Q, np.array([0.5]), 0, 1)
    assert half[0] == pytest.approx([0.4, 0.4, 0.2], rel=1e-15)
    assert d02.distinct_with_two(half, VALID, K) == pytest.approx(1.7408, rel=1e-13)


def test_one_draw_finds_the_validity():
    assert d02.in_one_draw(Q, VALID) == pytest.approx(0.8, rel=1e-15)
    assert d02.in_one_draw_averaged(Q, VALID, np.array([0.3])) == pytest.approx(0.8, rel=1e-15)
