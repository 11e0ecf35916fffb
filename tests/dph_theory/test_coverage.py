from fractions import Fraction
from math import comb
from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.hypothesis_strategies import laws, verifiers

from dph_theory.coverage import effective_number, entropy, exact_pass_at_k, expected_distinct_valid, pass_at_k
from dph_theory.numeric.balls import precision
from dph_theory.statement.charts import as_balls, example


@given(n=st.integers(1, 200), data=st.data())
def test_pass_at_k_is_the_ratio_of_binomials(n, data):
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    assert pass_at_k(n, c, k) == pytest.approx(ratio_of_binomials(n, c, k), rel=1e-13, abs=0)


def ratio_of_binomials(n, c, k):
    return float(1 - Fraction(comb(n - c, k), comb(n, k)))


LARGE = [(10, 3, 4), (10**6, 1, 1), (10**6, 6000, 60), (10**5, 100, 90_000), (3000, 2000, 30)]


@pytest.mark.parametrize(("n", "c", "k"), LARGE)
def test_pass_at_k_of_large_samples_is_the_ratio_of_binomials_to_all_digits(n, c, k):
    assert pass_at_k(n, c, k) == pytest.approx(ratio_of_binomials(n, c, k), rel=1e-14, abs=0)


def test_pass_at_k_is_vectorised_over_every_argument():
    c, k = np.arange(0, 11)[:, None], np.array([1, 4, 10])
    grid = pass_at_k(10, c, k)
    assert grid.shape == (11, 3)
    assert all(grid[i, j] == pass_at_k(10, i, int(k[j])) for i in range(11) for j in range(3))
    assert (np.diff(grid, axis=0) >= 0).all()


def test_pass_at_k_of_a_million_samples_is_instant():
    started = process_time()
    assert pass_at_k(10**6, [500_000, 6000], [500_000, 6000]) == pytest.approx([1, 1], rel=1e-15)
    assert process_time() - started < 0.5


def test_pass_at_k_in_balls():
    with precision(200):
        exact = pass_at_k(**as_balls(example(n=10, c=3, k=4).parts))[0]
    assert exact.rad() < 1e-50
    assert exact.overlaps(exact.__class__(5) / 6)


@given(p=st.floats(0, 1), k=st.integers(1, 10**6))
def test_exact_pass_at_k_lies_between_p_and_one(p, k):
    assert p * (1 - 1e-12) <= exact_pass_at_k(p, k) <= 1


@pytest.mark.parametrize(
    ("p", "k", "value"),
    [
        (1e-20, 1000, 1e-17),
        ([0.0, 1.0], 3, [0, 1]),
        (np.nextafter(1.0, 2.0), 3, 1),  # One, but for rounding.
        # More draws than float64 has whole numbers.
        (1e-18, 2**60, -np.expm1(-1e-18 * 2.0**60)),
        (1e-19, 2**63, -np.expm1(-1e-19 * 2.0**63)),
    ],
)
def test_exact_pass_at_k_keeps_its_digits(p, k, value):
    assert exact_pass_at_k(p, k) == pytest.approx(value, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("q", "value"),
    [
        ((0.48, 0.32, 0.2), 1.71307008),
        ((0.4, 0.4, 0.2), 1.7408),
        ((0.8, 0, 0.2), 0.9984),
        ((np.nextafter(1.0, 2.0), 0, 0), 1),
    ],
)
def test_expected_distinct_valid_of_four_draws(q, value):
    assert expected_distinct_valid(q, (1, 1, 0), 4) == pytest.approx(value, abs=1e-12)


@given(q=laws(), valid=verifiers(), k=st.integers(1, 50))
def test_distinct_valid_is_bounded_by_draws_and_by_outcomes(q, valid, k):
    assert 0 <= expected_distinct_valid(q, valid, k) <= min(k, valid.sum()) * (1 + 1e-12)


def test_entropy_and_effective_number():
    assert effective_number([0.25] * 4) == pytest.approx(4)
    assert entropy([1.0, 0.0]) == 0
