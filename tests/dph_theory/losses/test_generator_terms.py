from functools import cache

import mpmath
import numpy as np
import pytest
import sympy
import torch
from hypothesis import given
from hypothesis import strategies as st

from dph_theory import DIVERGENCES, FORWARD_KL, REVERSE_KL, alpha_divergence
from dph_theory.fdivergence import u
from dph_theory.losses.generator import generator

FAMILY = [
    *DIVERGENCES.values(),
    *map(alpha_divergence, (0.01, 0.05, 0.2, 0.4, 0.5, 0.6, 0.8, 0.95, -1.0, 2.5)),
]
every = pytest.mark.parametrize("divergence", FAMILY, ids=lambda d: d.name)
TOLERANCE = {torch.float64: 1e-13, torch.float32: 1e-5}
GRID = np.concatenate([np.linspace(-1e4, 1e4, 9), np.linspace(-700, 700, 41), np.linspace(-90, 90, 73)])
GRID = np.concatenate([GRID, np.linspace(-2, 2, 41), 10.0 ** np.arange(-18, 0), -(10.0 ** np.arange(-18, 0))])
GRID = np.unique(GRID[GRID != 0])


@cache
def exact(divergence):
    return tuple(sympy.lambdify(u, e, "mpmath") for e in (divergence.expression, divergence.derivative))


def check(divergence, gauge, x):
    f, slope = exact(divergence)
    shift = 0 if gauge == "printed" else -mpmath.mpf(sympy.Rational(divergence._gauge).p)
    info, tolerance = torch.finfo(x.dtype), TOLERANCE[x.dtype]
    value, derivative = generator(divergence, gauge)(x)
    assert not value.isnan().any()
    assert not derivative.isnan().any()
    for at, *pair in zip(x.tolist(), value.tolist(), derivative.tolist(), strict=True):
        ratio = mpmath.exp(mpmath.mpf(at))
        truths = f(ratio) + shift * (ratio - 1), ratio * (slope(ratio) + shift)
        for found, true in zip(pair, truths, strict=True):
            if abs(true) > info.max:
                assert found == float("inf") * mpmath.sign(true), at
            elif abs(true) >= info.tiny:
                assert abs(mpmath.mpf(found) - true) < tolerance * abs(true), at


@every
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("gauge", ["printed", "normalised"])
def test_agrees_with_the_declared_expression_in_60_digits(divergence, gauge, dtype):
    with mpmath.workdps(60):
        check(divergence, gauge, torch.tensor(GRID, dtype=dtype))


@given(
    st.sampled_from(FAMILY),
    st.sampled_from(["printed", "normalised"]),
    st.lists(st.floats(-9.5, 4), min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from(list(TOLERANCE)),
)
def test_agrees_at_any_magnitude(divergence, gauge, magnitudes, negative, dtype):
    x = (-1 if negative else 1) * 10.0 ** np.array(magnitudes)
    with mpmath.workdps(60):
        check(divergence, gauge, torch.tensor(x, dtype=dtype))


@every
@given(c=st.floats(-50, 50), x=st.floats(-1e4, 1e4))
def test_a_number_as_gauge_is_never_nan_and_adds_c_times_u_minus_one(divergence, c, x):
    for dtype in (torch.float64, torch.float32):
        at = torch.tensor([x], dtype=dtype)
        value, slope = (t.item() for t in generator(divergence, c)(at))
        assert value == value
        assert slope == slope
        if abs(x) < 80 and dtype == torch.float64:
            printed, printed_slope = (t.item() for t in generator(divergence, "printed")(at))
            scale = abs(printed) + (abs(c) + abs(divergence.gauge)) * abs(np.expm1(x))
            assert value == pytest.approx(printed + c * np.expm1(x), abs=1e-12 * scale + 1e-300)
            scale = abs(printed_slope) + (abs(c) + abs(divergence.gauge)) * np.exp(x)
            assert slope == pytest.approx(printed_slope + c * np.exp(x), abs=1e-12 * scale + 1e-300)


def test_opposed_infinities_are_decided_by_the_gauge():
    # u log u - 100 (u - 1) at u = e^50 and at u = e^1000: minus, then plus, infinite in float32.
    value, slope = generator(REVERSE_KL, -200.0)(torch.tensor([100.0, 1000.0]))
    assert value.tolist() == [-float("inf"), float("inf")]
    assert slope.tolist() == [-float("inf"), float("inf")]


def test_the_gauge_that_is_the_normalised_one_keeps_its_accuracy():
    x = torch.tensor([1e-9, -1e-9, 1e-5], dtype=torch.float64)
    value = generator(FORWARD_KL, 1.0)(x)[0]
    torch.testing.assert_close(value, x * x / 2 * (1 + x / 3 + x * x / 12), rtol=1e-14, atol=0)
