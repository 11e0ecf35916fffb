import numpy as np
import pytest
import sympy
import torch
from flint import arb

from dph_theory import DIVERGENCES, FORWARD_KL, REVERSE_KL, alpha_divergence
from dph_theory.fdivergence import u
from dph_theory.numeric.balls import precision
from dph_theory.statement.charts import as_balls, example

ALPHAS = (-1.0, -0.001, 0.01, 0.2, 0.5, 0.8, 0.99, 1.001, 2.0, 2.5)
FAMILY = [*DIVERGENCES.values(), *map(alpha_divergence, ALPHAS)]
every = pytest.mark.parametrize("divergence", FAMILY, ids=lambda d: d.name)


GRID = np.concatenate([np.linspace(-700, 700, 281), np.linspace(-3, 3, 61), 10.0 ** np.arange(-14, 0)])
GRID = np.unique(np.concatenate([GRID, -GRID]))
GRID = GRID[GRID != 0]


@every
def test_torch_and_numpy_share_the_stable_form(divergence):
    for gauge in ("printed", "normalised", 0.7):
        mine = divergence.on_log_ratio(GRID, gauge=gauge)
        theirs = divergence.on_log_ratio(torch.tensor(GRID), gauge=gauge)
        for a, b in zip(mine, theirs, strict=True):
            assert b.dtype == torch.float64
            np.testing.assert_allclose(a, b.numpy(), rtol=1e-12)


def test_curvatures():
    curvature = {name: d.curvature for name, d in DIVERGENCES.items()}
    assert curvature == {
        "forward_kl": 1.0,
        "reverse_kl": 1.0,
        "jensen_shannon": 0.5,
        "hellinger": 0.5,
        "chi_squared": 2.0,
        "neyman_chi_squared": 2.0,
        "total_variation": np.inf,
    }
    assert all(alpha_divergence(a).curvature == pytest.approx(1.0) for a in (-1, 0.2, 0.5, 0.9, 2))


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
