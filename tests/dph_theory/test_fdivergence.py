import numpy as np
import pytest
import sympy
import torch

from dph_theory import DIVERGENCES, REVERSE_KL, alpha_divergence
from dph_theory.fdivergence import u

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


def test_extreme_masses_neither_overflow_nor_vanish():
    tiny = 1e-310
    value = REVERSE_KL([0.5, 0.5], [tiny, 1 - tiny])
    assert value == pytest.approx(np.log(0.5) - 0.5 * np.log(tiny), rel=1e-12)
