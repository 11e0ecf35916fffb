from fractions import Fraction
from math import comb
from time import process_time

import numpy as np
import pytest

from dph_theory.coverage import effective_number, entropy, exact_pass_at_k, expected_distinct_valid, pass_at_k


def ratio_of_binomials(n, c, k):
    return float(1 - Fraction(comb(n - c, k), comb(n, k)))


SAMPLES = [(10, 3, 4), (10, 0, 10), (10, 7, 4), (10**6, 1, 1), (10**6, 6000, 60), (10**5, 100, 90_000)]


@pytest.mark.parametrize(("n", "c", "k"), SAMPLES)
def test_pass_at_k_is_the_ratio_of_binomials_to_all_digits(n, c, k):
    assert pass_at_k(n, c, k) == pytest.approx(ratio_of_binomials(n, c, k), rel=1e-14, abs=0)


def test_pass_at_k_of_a_million_samples_is_instant():
    started = process_time()
    assert pass_at_k(10**6, [500_000, 6000], [500_000, 6000]) == pytest.approx([1, 1], rel=1e-15)
    assert process_time() - started < 0.5


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


def test_distinct_answers_and_their_effective_number():
    assert expected_distinct_valid((np.nextafter(1.0, 2.0), 0, 0), (1, 1, 0), 4) == pytest.approx(1)
    assert expected_distinct_valid((0.48, 0.32, 0.2), (1, 1, 0), 4) == pytest.approx(1.71307008, abs=1e-12)
    assert effective_number([0.25] * 4) == pytest.approx(4)
    assert entropy([1.0, 0.0]) == 0
