import mpmath
import numpy as np
import pytest
import sympy
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dph_theory.numeric import balls
from dph_theory.numeric.balls import exp_remainder, expit, log_ratio, logit, precision, solve, xlogy
from dph_theory.numeric.compiled import compiled


@given(st.floats(-20, 2.8), st.booleans())
def test_exp_remainder_in_60_digits(magnitude, negative):
    x = -(10**magnitude) if negative else 10**magnitude
    with mpmath.workdps(60):
        exact = mpmath.expm1(mpmath.mpf(x)) - mpmath.mpf(x)
        assert exp_remainder(np.float64(x)) == pytest.approx(float(exact), rel=3e-15, abs=0)


@given(st.floats(1e-300, 1e300), st.floats(-0.4, 0.4))
def test_log_ratio_of_close_masses(q, change):
    p = q * (1 + change)
    with mpmath.workdps(40):
        exact = float(mpmath.log(mpmath.mpf(p) / mpmath.mpf(q)))
    assert log_ratio(np.float64(p), np.float64(q)) == pytest.approx(exact, rel=1e-14, abs=0)


def test_balls_and_floats_agree_also_where_a_mass_is_zero():
    numbers = np.array([0.25, 0.75])
    thin = np.array([arb(1) / 4, arb(3) / 4], dtype=object)
    assert (balls.is_ball(thin), balls.is_ball(numbers)) == (True, False)
    for function in (logit, expit, lambda p: xlogy(p, p)):
        np.testing.assert_allclose([float(b) for b in function(thin)], function(numbers), rtol=1e-14)
    for zero in (np.array([0.0]), np.array([arb(0)], dtype=object)):
        assert xlogy(zero, zero)[0] == 0
    p, q = np.array([0.0, 0.5, 0.0]), np.array([0.5, 0.0, 0.0])
    assert log_ratio(p, q).tolist() == [-np.inf, np.inf, 0.0]


def test_solve_agrees_is_batched_and_refuses_a_matrix_it_cannot_tell_from_a_singular_one():
    matrix = np.array([[[2.0, 1.0], [1.0, 3.0]], [[1.0, 0.0], [0.0, 4.0]]])
    vector = np.array([[1.0, 2.0], [3.0, 4.0]])
    exact = solve(*(np.vectorize(arb, otypes=[object])(each) for each in (matrix, vector)))
    np.testing.assert_allclose(np.vectorize(float)(exact), solve(matrix, vector), rtol=1e-14)
    with pytest.raises(ZeroDivisionError):
        solve(np.full((1, 2, 2), arb(1), dtype=object), np.full((1, 2), arb(1), dtype=object))


def test_the_maximum_of_overlapping_balls_covers_both():
    wide, thin = arb(1, 0.5), arb(1.25)
    top = balls.highest(np.array([[wide, thin]], dtype=object))[0]
    assert top.contains(arb(1.5))
    assert top.contains(thin)
    assert balls.lowest(np.array([arb(1), arb(2)], dtype=object)) == 1


def test_precision_is_restored():
    with precision(300):
        inside = float((arb(1) / 3).rad())
    assert inside < 1e-85
    assert float((arb(1) / 3).rad()) > 1e-30


def test_minimisers_keep_ties_and_leave_out_what_is_not_allowed():
    values = np.array([[2.0, 1.0, 1.0], [0.0, 3.0, 4.0]])
    assert balls.minimisers(values).tolist() == [[False, True, True], [True, False, False]]
    among = np.array([True, False, True])
    assert balls.minimisers(values, among).tolist() == [[False, False, True], [True, False, False]]
    wide = np.array([arb("1 +/- 0.1"), arb("1.05 +/- 0.1"), arb(2)])
    assert balls.minimisers(wide).tolist() == [True, True, False]


def test_whole_powers_of_a_ball_around_zero_are_finite_and_negative_ones_divide():
    u = sympy.Symbol("u", positive=True)
    around_one = arb(1, 1e-20)
    assert compiled((u - 1) ** 2, u, True)(around_one).is_finite()
    assert compiled((u - 1) ** 3, u, True)(around_one).contains(arb(0))
    assert compiled(1 / u**2, u, True)(arb(3)).overlaps(arb(1) / 9)
    assert compiled(u ** (-3) * 2, u, True)(arb(2)).overlaps(arb(1) / 4)
