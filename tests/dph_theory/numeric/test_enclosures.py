import math

import mpmath
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from dph_theory.numeric.balls import precision
from dph_theory.numeric.enclosures import (
    OnBox,
    ball,
    described,
    distance_from_zero,
    halves,
    linear,
    logarithmic,
    positive,
    rate,
)


@pytest.mark.parametrize("span", [linear("-.1", "27"), logarithmic("1e-2", "1e2"), rate("1e-6")], ids=str)
def test_a_range_covers_its_ends(span):
    with precision(128):
        low, high = (span.scalar(arb(end)) for end in span.ends)
        assert low <= arb("1e-6" if span.scale == "log odds" else span.low)
        assert high >= (1 - arb("1e-6") if span.scale == "log odds" else arb(span.high))


def test_a_range_needs_its_low_end_below_its_high_one():
    with pytest.raises(ValueError, match="low below high"):
        _ = linear("1", "1").ends


def test_the_box_in_words():
    assert described({"p": rate("1e-6"), "beta": logarithmic("1e-2", "1e2")}) == (
        "p in [1e-6, 1 - 1e-6], beta in [1e-2, 1e2]"
    )


def test_halves_share_their_boundary_and_lose_nothing():
    assert halves(((0.0, 1.0), (2.0, 4.0)), 1) == (((0.0, 1.0), (2.0, 3.0)), ((0.0, 1.0), (3.0, 4.0)))


def wavy(x, y):
    return [(x * y).exp() / (1 + x), (1 + x * x).sqrt() * y.log()]


@settings(max_examples=20)
@given(st.floats(0, 1), st.floats(0, 1), st.floats(1e-9, 0.1))
def test_coefficients_on_a_piece_enclose_those_at_its_points(at, share, width):
    f = OnBox(wavy, {"x": linear("0", "2"), "y": linear("1", "3")})
    inside = at + share * width
    wide = f.coefficients([ball((at, at + width)), arb(2)], 0, 4)
    exact = (
        mpmath.taylor(lambda x: mpmath.exp(2 * x) / (1 + x), inside, 4),
        mpmath.taylor(lambda x: mpmath.sqrt(1 + x * x) * mpmath.log(2), inside, 4),
    )
    for found, true in zip(wide, exact, strict=True):
        assert all(c.overlaps(arb(float(t), 1e-6)) for c, t in zip(found, true, strict=True))


def test_what_cannot_be_evaluated_is_nan():
    f = OnBox(lambda x: [1 / x, x], {"x": linear("-1", "1")})
    assert f.values(f.whole)[0].is_nan()
    assert f.coefficients([ball((-1, 1))], 0, 2)[0][0].is_nan()
    assert OnBox(lambda x: [x.log()], {"x": linear("-1", "1")}).values(((-1.0, 1.0),))[0].is_nan()


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
