from functools import cache

import mpmath
import numpy as np
import pytest
import sympy
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.hypothesis_strategies import laws, verifiers

from dph_theory import DIVERGENCES, FORWARD_KL, REVERSE_KL, TOTAL_VARIATION, alpha_divergence, filtered
from dph_theory.fdivergence import u
from dph_theory.losses import generator_loss
from dph_theory.losses.generator import generator

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
FAMILY = [*DIVERGENCES.values(), *map(alpha_divergence, (0.2, 0.5, 0.8))]
WIDER = [*DIVERGENCES.values(), *map(alpha_divergence, (0.01, 0.2, 0.5, 0.95, -1.0, 2.5))]
every = pytest.mark.parametrize("divergence", FAMILY, ids=lambda d: d.name)
GAUGES = ("printed", "normalised", -1.3)
ALL = torch.ones(1, 1, dtype=torch.bool)
TOLERANCE = {torch.float64: 1e-13, torch.float32: 1e-5}
GRID = [np.linspace(-end, end, n) for end, n in ((1e4, 5), (700, 15), (90, 37), (2, 21))]
GRID = np.concatenate([*GRID, 10.0 ** np.arange(-18, 0), -(10.0 ** np.arange(-18, 0, 2))])
GRID = np.unique(GRID[GRID != 0])


@cache
def exact(divergence):
    return tuple(sympy.lambdify(u, e, "mpmath") for e in (divergence.expression, divergence.derivative))


@pytest.mark.parametrize("divergence", WIDER, ids=lambda d: d.name)
@pytest.mark.parametrize("gauge", ["printed", "normalised"])
def test_it_is_the_declared_expression_in_60_digits(divergence, gauge):
    f, slope = exact(divergence)
    with mpmath.workdps(60):
        shift = 0 if gauge == "printed" else -mpmath.mpf(sympy.Rational(divergence._gauge).p)
        for dtype, tolerance in TOLERANCE.items():
            x, info = torch.tensor(GRID, dtype=dtype), torch.finfo(dtype)
            value, derivative = (computed.tolist() for computed in generator(divergence, gauge)(x))
            for at, *pair in zip(x.tolist(), value, derivative, strict=True):
                ratio = mpmath.exp(mpmath.mpf(at))
                truths = f(ratio) + shift * (ratio - 1), ratio * (slope(ratio) + shift)
                for computed, true in zip(pair, truths, strict=True):
                    if abs(true) > info.max:
                        assert computed == float("inf") * mpmath.sign(true), at
                    elif abs(true) >= info.tiny:
                        assert abs(mpmath.mpf(computed) - true) < tolerance * abs(true), at
                    else:
                        assert computed == computed, at


@given(divergence=st.sampled_from(FAMILY), c=st.floats(-50, 50), x=st.floats(-1e4, 1e4))
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


def expected(sampler, theta, ref, **arguments):
    """The exact mean over one-token outcomes of a law of the loss at each, and its gradient in logits."""
    theta = torch.tensor(theta, dtype=torch.float64, requires_grad=True)
    log_ratio = torch.log_softmax(theta, 0) - torch.tensor(ref).log()
    losses = [generator_loss(log_ratio=x[None, None], mask=ALL, **arguments) for x in log_ratio]
    value = sum(p * loss for p, loss in zip(sampler.tolist(), losses, strict=True) if p > 0)
    return value.item(), torch.autograd.grad(value, theta)[0].numpy()


@every
@settings(max_examples=8)
@given(pi=laws(), ref=laws())
def test_expected_gradient_is_the_divergences(divergence, pi, ref):
    # At a kink the rounding of pi - ref decides the slope.
    assume(divergence is not TOTAL_VARIATION or np.abs(np.log(pi / ref)).min() > 1e-9)
    for gauge in GAUGES:
        value, gradient = expected(ref, np.log(pi), ref, divergence=divergence, gauge=gauge)
        exact = divergence.gradient(pi, ref)
        # Rounding is relative to what was added up, which the gauge enlarges.
        size = np.abs(ref * divergence.on_log_ratio(np.log(pi) - np.log(ref)).derivative).sum() + 5
        np.testing.assert_allclose(gradient, exact, atol=1e-13 * size)
        if size < 1e3:
            np.testing.assert_allclose(gradient, exact, atol=1e-10)
        assert value == pytest.approx(divergence(pi, ref), rel=1e-9, abs=1e-11 * size)


@every
def test_sequence_level_gradient_is_that_of_the_divergence_between_sequences(divergence):
    # Two tokens of two symbols: first logits a, then b given the first symbol.
    rng = np.random.default_rng(0)
    theta = torch.tensor(rng.normal(size=(3, 2)), requires_grad=True)
    ref = torch.log_softmax(torch.tensor(rng.normal(size=(3, 2))), -1)
    pi = torch.log_softmax(theta, -1)
    ratio = pi - ref
    rows = [(first, second) for first in (0, 1) for second in (0, 1)]
    tokens = torch.stack([torch.stack([ratio[0, a], ratio[1 + a, b]]) for a, b in rows])
    log_q = torch.stack([ref[0, a] + ref[1 + a, b] for a, b in rows])
    mask = torch.ones(1, 2, dtype=torch.bool)
    losses = [generator_loss(divergence, x[None], mask, level="sequence", reduction="sum") for x in tokens]
    gradient = torch.autograd.grad((log_q.exp() * torch.stack(losses)).sum(), theta, retain_graph=True)[0]
    log_p = torch.stack([pi[0, a] + pi[1 + a, b] for a, b in rows])
    slopes = torch.tensor(divergence.generator_derivative((log_p - log_q).exp().detach().numpy()))
    exact = torch.autograd.grad((slopes * log_p.exp()).sum(), theta)[0]
    np.testing.assert_allclose(gradient, exact, atol=1e-12)


@given(base=laws(), valid=verifiers(), pi=laws())
def test_forward_kl_on_correct_samples_descends_to_the_filtered_model(base, valid, pi):
    target = filtered(base, valid)
    _, gradient = expected(target, np.log(pi), base, divergence=FORWARD_KL)
    # Zero at pi = p_* and nowhere else.
    np.testing.assert_allclose(gradient, pi - target, atol=1e-12)


@every
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("level", ["token", "sequence"])
def test_never_nan_up_to_ten_thousand_and_garbage_under_the_mask_is_zero(divergence, dtype, level):
    keep = torch.tensor([[True, False, False]])
    for gauge in GAUGES:
        for x in (-1e4, -90.0, 0.0, 12.0, 1e4):
            row = torch.tensor([[x, float("nan"), float("inf")]], dtype=dtype, requires_grad=True)
            loss = generator_loss(divergence, row, keep, gauge=gauge, level=level)
            loss.backward()
            assert not loss.isnan()
            assert not row.grad.isnan().any()
            assert (row.grad[0, 1:] == 0).all()
    # A row of which no token counts changes nothing.
    rows = torch.tensor([[-2.0, 1.0], [float("nan"), 0.0], [1.5, 0.5]], dtype=dtype, requires_grad=True)
    mask = torch.tensor([[True, True], [False, False], [True, False]])
    with_masked, without_masked = (
        generator_loss(divergence, rows[places], mask[places], level=level, reduction="sequence_mean")
        for places in ([0, 1, 2], [0, 2])
    )
    with_masked.backward()
    assert (rows.grad[1] == 0).all()
    assert with_masked.item() == pytest.approx(without_masked.item(), rel=1e-6)


def test_the_kink_of_total_variation_has_the_middle_slope():
    x = torch.zeros(1, 1, requires_grad=True)
    generator_loss(TOTAL_VARIATION, x, ALL).backward()
    assert x.grad == 0


@every
@pytest.mark.parametrize("level", ["token", "sequence"])
@pytest.mark.parametrize("gauge", GAUGES)
def test_tokens_without_mass_give_the_limits_of_the_generator(divergence, gauge, level):
    for x in (-np.inf, np.inf):
        log_ratio = torch.full((1, 1), x, dtype=torch.float64, requires_grad=True)
        loss = generator_loss(divergence, log_ratio, ALL, gauge=gauge, level=level)
        loss.backward()
        assert not log_ratio.grad.isnan()
        assert not loss.isnan()
        if x < 0 and gauge == "printed":
            assert loss.item() == pytest.approx(float(divergence.at_zero))
