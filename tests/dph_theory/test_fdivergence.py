from functools import cache

import mpmath
import numpy as np
import pytest
import sympy
import torch
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from support.hypothesis_strategies import laws

from dph_theory import DIVERGENCES, FORWARD_KL, REVERSE_KL, TOTAL_VARIATION, alpha_divergence
from dph_theory.fdivergence import u
from dph_theory.numeric.balls import precision
from dph_theory.statement.charts import as_balls, example

ALPHAS = (-1.0, -0.001, 0.01, 0.2, 0.5, 0.8, 0.99, 1.001, 2.0, 2.5)
FAMILY = [*DIVERGENCES.values(), *map(alpha_divergence, ALPHAS)]
SMOOTH = [d for d in FAMILY if d is not TOTAL_VARIATION]
every = pytest.mark.parametrize("divergence", FAMILY, ids=lambda d: d.name)
smooth = pytest.mark.parametrize("divergence", SMOOTH, ids=lambda d: d.name)


@cache
def generator(divergence, of="mpmath"):
    return sympy.lambdify(u, divergence.expression, of)


GRID = np.concatenate([np.linspace(-700, 700, 281), np.linspace(-3, 3, 61), 10.0 ** np.arange(-14, 0)])
GRID = np.unique(np.concatenate([GRID, -GRID]))
GRID = GRID[GRID != 0]


@every
def test_stable_form_agrees_with_the_expression_in_60_digits(divergence):
    with mpmath.workdps(60):
        f = generator(divergence)
        slope = sympy.lambdify(u, divergence.derivative, "mpmath")
        ratios = [mpmath.exp(mpmath.mpf(x)) for x in GRID]
        exact = np.array([f(r) for r in ratios])
        exact_slope = np.array([r * slope(r) for r in ratios])
        value, derivative = divergence.on_log_ratio(GRID)
        for found, true in ((value, exact), (derivative, exact_slope)):
            inside = np.array([abs(t) < 1e308 for t in true])
            pairs = zip(found[inside], true[inside], strict=True)
            # Rounded up by the smallest float, so that an exact zero compares too.
            assert max(float(abs(float(a) - b) / (abs(b) + mpmath.mpf(10) ** -308)) for a, b in pairs) < 1e-13
            assert (np.abs(found[~inside]) > 1e307).all()


@every
def test_torch_and_numpy_share_the_stable_form(divergence):
    for gauge in ("printed", "normalised", 0.7):
        mine = divergence.on_log_ratio(GRID, gauge=gauge)
        theirs = divergence.on_log_ratio(torch.tensor(GRID), gauge=gauge)
        for a, b in zip(mine, theirs, strict=True):
            assert b.dtype == torch.float64
            np.testing.assert_allclose(a, b.numpy(), rtol=1e-12)


@smooth
def test_gauges_differ_by_a_multiple_of_u_minus_one(divergence):
    x = np.linspace(-5, 5, 21)
    printed, normalised = (divergence.on_log_ratio(x, gauge=g) for g in ("printed", "normalised"))
    shifted = divergence.on_log_ratio(x, gauge=2.5)
    np.testing.assert_allclose(
        printed.value - normalised.value, divergence.gauge * np.expm1(x), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(shifted.value - printed.value, 2.5 * np.expm1(x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        shifted.derivative - printed.derivative, 2.5 * np.exp(x), rtol=1e-9, atol=1e-12
    )


@given(pi=laws(zeros=True), ref=laws(zeros=True))
def test_never_negative_zero_on_itself_reversible_and_no_larger_on_merged_outcomes(pi, ref):
    merged = [np.append(law[:2], law[2:].sum()) for law in (pi, ref)]
    for divergence in FAMILY:
        value = divergence(pi, ref)
        assert value >= 0 == divergence(pi, pi), divergence.name
        assert divergence.reversed(ref, pi) == pytest.approx(value, rel=1e-12), divergence.name
        assert divergence(*merged) <= value * (1 + 1e-9) + 1e-12, divergence.name


@given(pi=laws(), ref=laws(), c=st.floats(-5, 5))
def test_float_form_agrees_with_the_declared_expression_and_its_mean_with_any_gauge(pi, ref, c):
    x = np.log(pi) - np.log(ref)
    for divergence in FAMILY:
        f = generator(divergence)
        with mpmath.workdps(40):
            exact = sum(r * f(p / r) for p, r in zip(map(mpmath.mpf, pi), map(mpmath.mpf, ref), strict=True))
        # Sums are one only to rounding, which the gauge turns into a shift of that size.
        assert divergence(pi, ref) == pytest.approx(float(exact), rel=1e-11, abs=1e-14), divergence.name
        printed, shifted = ((ref * divergence.on_log_ratio(x, gauge=g).value).sum() for g in ("printed", c))
        if divergence is not TOTAL_VARIATION:
            assert shifted == pytest.approx(printed, rel=1e-6, abs=1e-6), divergence.name


@every
def test_reversed_expression_is_u_f_of_one_over_u(divergence):
    assert sympy.simplify(u * divergence.expression.subs(u, 1 / u) - divergence.reversed.expression) == 0
    assert divergence.reversed.reversed == divergence


@every
def test_zero_mass_is_a_limit(divergence):
    outer, inner = np.array([0.5, 0.5]), np.array([1.0, 0.0])
    at_zero, at_infinity = float(divergence.at_zero), float(divergence.at_infinity)
    rest = float(divergence.expression.subs(u, 2)) / 2
    lost = divergence(inner, outer)
    assert lost == pytest.approx(0.5 * at_zero + rest, rel=1e-12)
    rest = float(divergence.expression.subs(u, sympy.Rational(1, 2)))
    assert divergence(outer, inner) == pytest.approx(rest + 0.5 * at_infinity, rel=1e-12)
    disjoint = divergence(inner, inner[::-1])
    assert disjoint == pytest.approx(at_zero + at_infinity, rel=1e-12)


@given(pi=laws(), ref=laws())
def test_gradient_is_the_derivative_in_logits(pi, ref):
    # Complex-step differentiation of the declared expression: no cancellation, an independent route.
    shifted = np.log(pi) + 1e-30j * np.eye(len(pi))
    moved = np.exp(shifted) / np.exp(shifted).sum(axis=-1, keepdims=True)
    for divergence in SMOOTH:
        numeric = (ref * generator(divergence, "numpy")(moved / ref)).sum(axis=-1).imag / 1e-30
        scale = np.abs(pi * divergence.generator_derivative(pi / ref)).sum() + 1
        assert np.abs(divergence.gradient(pi, ref) - numeric).max() <= 1e-11 * scale, divergence.name


@every
def test_balls_contain_the_float_value(divergence):
    instance = example(pi=".5 .3 .2 0", ref=".2 .2 .3 .3")
    with precision(200):
        exact = divergence(**as_balls(instance.parts))[0]
    if exact.is_finite():
        assert exact.rad() < 1e-40
        value = divergence([0.5, 0.3, 0.2, 0.0], [0.2, 0.2, 0.3, 0.3])
        assert abs(float(exact) - value) < 1e-14
    else:
        assert float(divergence.at_zero) == np.inf


def test_a_ball_that_may_be_zero_decides_nothing():
    # log u is 100 or so, but at 64 bits the ball of the mass straddles zero.
    def forward(bits):
        with precision(bits):
            rest = 1 - (1 - (-arb(100)).exp())
            pi = np.array([1 - rest, rest], dtype=object)
            return FORWARD_KL(pi, np.array([arb(0.5), arb(0.5)], dtype=object))

    assert forward(64).is_nan()
    assert float(forward(400)) == pytest.approx(50 - np.log(2), rel=1e-12)


@pytest.mark.parametrize("divergence", [d for d in FAMILY if d.at_zero.is_finite], ids=lambda d: d.name)
def test_gradients_agree_in_floats_and_balls_at_zero_mass(divergence):
    instance = example(pi=".5 .5 0", ref=".25 .25 .5")
    with precision(200):
        exact = [float(g) for g in divergence.gradient(**as_balls(instance.parts))[0]]
    np.testing.assert_allclose(divergence.gradient([0.5, 0.5, 0.0], [0.25, 0.25, 0.5]), exact, rtol=1e-12)


def test_extreme_masses_neither_overflow_nor_vanish():
    tiny = 1e-310
    value = REVERSE_KL([0.5, 0.5], [tiny, 1 - tiny])
    assert value == pytest.approx(np.log(0.5) - 0.5 * np.log(tiny), rel=1e-12)


def test_batches_broadcast_without_a_loop():
    rng = np.random.default_rng(0)
    pi, ref = rng.dirichlet(np.ones(3), size=(5, 1)), rng.dirichlet(np.ones(3), size=(1, 7))
    batch = FORWARD_KL(pi, ref)
    assert batch.shape == (5, 7)
    assert batch[2, 3] == FORWARD_KL(pi[2, 0], ref[0, 3])
