import math

import pytest

from dph_theory.numeric.boxes import OnBox, linear, logarithmic, rate
from dph_theory.numeric.enclosures import distance_from_zero, positive

SQUARE = {"x": linear("-1", "1"), "y": linear("0", "1")}


def test_a_positive_function_is_decided_and_a_negative_one_found():
    bowl = OnBox(lambda x, y: [1.01 - x * x * y, 1 + x * y + 1e-9], SQUARE)
    assert positive(bowl, budget=1000).left is None
    needle = OnBox(lambda x, y: [(x - 0.3) ** 2 + (y - 0.7) ** 2 - 1e-4], SQUARE)
    found = positive(needle, budget=10_000)
    (low, high), (bottom, top) = found.fails
    assert math.hypot((low + high) / 2 - 0.3, (bottom + top) / 2 - 0.7) < 0.01


def test_one_component_that_fails_is_enough():
    f = OnBox(lambda x, y: [1 + y, x + 0.5], SQUARE)
    assert positive(f, budget=100).fails is not None


def test_what_touches_zero_is_left_undecided_unless_the_zero_is_divided_out():
    double = OnBox(lambda x, y: [x * x * (1 + y)], SQUARE)
    assert positive(double, budget=200).left is not None
    assert positive(double, zero=(0, 2), budget=200).left is None


def test_a_zero_of_lower_order_than_stated_is_not_hidden():
    # x^2 - x/100 is negative just right of 0, and its second coefficient is positive everywhere.
    dips = OnBox(lambda x, y: [x * x - x / 100 + 0 * y], SQUARE)
    found = positive(dips, zero=(0, 1), budget=1000)
    assert found.fails is not None or found.left is not None


def test_a_function_that_cannot_be_evaluated_is_not_positive():
    assert positive(OnBox(lambda x, y: [x.log() ** 2 + 1], SQUARE), budget=50).left is not None


def test_an_identity_of_polynomials_is_exact():
    f = OnBox(lambda p: [(1 + p) ** 3 - 1 - 3 * p - 3 * p * p - p * p * p], {"p": linear("0", "1")})
    found = distance_from_zero(f, tolerance=1e-9, budget=10)
    assert found.pieces == 1
    assert found.bound < 1e-13


@pytest.mark.parametrize("off", [0, 1e-2])
def test_the_distance_of_an_identity_is_bounded_from_above(off):
    def residue(p, beta):
        return [(p / beta).log() - p.log() + beta.log() + off * p]

    box = {"p": rate("1e-1"), "beta": logarithmic(".5", "2")}
    found = distance_from_zero(OnBox(residue, box), tolerance=1e-4, budget=2000)
    assert found.left is None
    assert off * 0.9 <= found.bound < off * 6 + 1e-3


def test_a_budget_that_does_not_do_says_which_piece_is_left():
    f = OnBox(lambda p: [p.sqrt() - p.sqrt()], {"p": linear("0", "1")})
    assert distance_from_zero(f, tolerance=1e-6, budget=5).left is not None
