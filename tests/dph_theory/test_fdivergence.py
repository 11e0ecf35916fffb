import numpy as np
import pytest
import sympy
import torch

from dph_theory import DIVERGENCES, REVERSE_KL, alpha_divergence
from dph_theory.divergences import SMOOTH
from dph_theory.fdivergence import FDivergence, u

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


@pytest.mark.parametrize(
    "divergence", [*SMOOTH, alpha_divergence(-1), alpha_divergence(2.5)], ids=lambda d: d.name
)
def test_a_generator_alone_gives_what_its_stable_form_gives(divergence):
    alone = FDivergence("mine", divergence.declared)
    assert (alone.gauge, alone.curvature) == (divergence.gauge, divergence.curvature)
    grid = GRID[abs(GRID) < 200]
    for gauge in ("printed", "normalised", 0.7):
        mine = alone.on_log_ratio(torch.tensor(grid), gauge=gauge)
        stable = divergence.on_log_ratio(grid, gauge=gauge)
        # A gauge is as accurate as the larger of its two terms.
        size = 0 if gauge == "normalised" else 3 * abs(np.expm1(grid))
        for part, true in zip(mine, stable, strict=True):
            assert (abs(part.numpy() - true) <= 1e-11 * (abs(stable.value) + abs(true) + size)).all()
    for pair in (
        ([0.5, 0.3, 0.2], [0.1, 0.2, 0.7]),
        ([1.0, 0.0, 0.0], [0.5, 0.5, 0.0]),
        ([0.5, 0.5], [1.0, 0.0]),
    ):
        for mine, stable in (alone, divergence), (alone.reversed, divergence.reversed):
            assert mine(*pair) == pytest.approx(stable(*pair), rel=1e-13)
    np.testing.assert_allclose(
        alone.gradient([0.5, 0.3, 0.2], [0.1, 0.2, 0.7]),
        divergence.gradient([0.5, 0.3, 0.2], [0.1, 0.2, 0.7]),
        atol=1e-13,
    )


@pytest.mark.parametrize(
    ("declared", "given", "message"),
    [
        # At (.5, .5) and (.2, .8) it would give .834 for .193.
        (lambda u: -sympy.log(u), {"normalised": lambda xp, x: (-x, -1 + 0 * x)}, "normalised=.*at log u = "),
        (
            lambda u: (u - 1) ** 2,
            {"normalised": lambda xp, x: ((xp.exp(x) - 1) ** 2, 2 * xp.exp(2 * x))},
            "normalised=.*without cancellation; at log u = .* it gives .*, the generator ",
        ),
        (
            lambda u: -sympy.log(u),
            {"reverse": lambda: DIVERGENCES["forward_kl"]},
            "reverse='forward_kl'.*at log",
        ),
        (lambda u: abs(u - 1), {}, "normalised=None.*derivative in x"),
        (lambda u: u**2, {}, r"declared='u\*\*2' is not allowed: a convex f"),
        (lambda u: -((u - 1) ** 2), {}, "declared=.*a convex f"),
        (lambda u: sympy.sqrt(u - 2) - 1, {}, "declared=.*a convex f"),
        (lambda u: np.sqrt(u) - 1, {}, "declared='mine' .*sympy.sqrt, not numpy's"),
    ],
)
def test_what_does_not_agree_with_the_generator_is_refused_at_its_first_use(declared, given, message):
    with pytest.raises(ValueError, match=message):
        FDivergence("mine", declared, **given)([0.5, 0.5], [0.2, 0.8])
