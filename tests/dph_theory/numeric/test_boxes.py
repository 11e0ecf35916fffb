import mpmath
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from dph_theory.numeric.balls import precision
from dph_theory.numeric.boxes import OnBox, ball, described, halves, linear, logarithmic, rate


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
