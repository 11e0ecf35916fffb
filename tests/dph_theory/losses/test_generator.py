import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.hypothesis_strategies import laws, verifiers

from dph_theory import DIVERGENCES, FORWARD_KL, TOTAL_VARIATION, alpha_divergence, filtered, valid_mass
from dph_theory.losses import generator_loss

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
FAMILY = [*DIVERGENCES.values(), *map(alpha_divergence, (0.2, 0.5, 0.8))]
COVERED = [d for d in FAMILY if d.name != "neyman_chi_squared"]
"""Those that stay below |x| as the policy loses mass."""
every = pytest.mark.parametrize("divergence", FAMILY, ids=lambda d: d.name)
GAUGES = ("printed", "normalised", 0.7, -1.3)
ALL = torch.ones(1, 1, dtype=torch.bool)


def expected(law, theta, ref, **arguments):
    """The exact mean over one-token outcomes of a law of the loss at each, and its gradient in logits."""
    theta = torch.tensor(theta, dtype=torch.float64, requires_grad=True)
    log_ratio = torch.log_softmax(theta, 0) - torch.tensor(ref).log()
    losses = [generator_loss(log_ratio=x[None, None], mask=ALL, **arguments) for x in log_ratio]
    value = sum(p * loss for p, loss in zip(law.tolist(), losses, strict=True) if p > 0)
    return value.item(), torch.autograd.grad(value, theta)[0].numpy()


def test_names_and_values_mean_the_same():
    x = torch.randn(3, 4)
    mask = torch.ones(3, 4, dtype=torch.bool)
    assert generator_loss("forward_kl", x, mask) == generator_loss(FORWARD_KL, x, mask)


@every
@settings(max_examples=25)
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
    losses = [
        generator_loss(divergence, row[None], mask, level="sequence", reduction="sum") for row in tokens
    ]
    found = torch.autograd.grad((log_q.exp() * torch.stack(losses)).sum(), theta, retain_graph=True)[0]
    log_p = torch.stack([pi[0, a] + pi[1 + a, b] for a, b in rows])
    pull = torch.tensor(divergence.generator_derivative((log_p - log_q).exp().detach().numpy()))
    exact = torch.autograd.grad((pull * log_p.exp()).sum(), theta)[0]
    np.testing.assert_allclose(found, exact, atol=1e-12)


@given(base=laws(), valid=verifiers(), pi=laws())
def test_forward_kl_on_correct_samples_descends_to_the_filtered_model(base, valid, pi):
    target = filtered(base, valid)
    _, gradient = expected(target, np.log(pi), base, divergence=FORWARD_KL)
    # Zero at pi = p_* and nowhere else.
    np.testing.assert_allclose(gradient, pi - target, atol=1e-12)


@given(base=laws(), valid=verifiers(), pi=laws())
def test_k3_on_correct_samples_has_the_bases_own_mass_as_minimiser(base, valid, pi):
    target, rate = filtered(base, valid), valid_mass(base, valid)

    def loss(theta):
        return expected(target, theta, base, divergence=FORWARD_KL, gauge="normalised")

    # Stationary at the base itself, whose valid part is A1 p_*, and nothing is lower.
    here, gradient = loss(np.log(base))
    np.testing.assert_allclose(gradient, 0, atol=1e-12)
    assert here == pytest.approx(0, abs=1e-12)
    assert loss(np.log(pi))[0] >= -1e-12
    if rate < 0.9:
        sharper = np.where(valid, (rate + 0.05) * target, (0.95 - rate) * base / (1 - rate))
        assert loss(np.log(sharper))[0] > 1e-4


@every
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("level", ["token", "sequence"])
def test_never_nan_up_to_ten_thousand_and_garbage_under_the_mask_is_zero(divergence, dtype, level):
    grid = torch.tensor([-1e4, -700.0, -90.0, -12.0, -1e-4, 0.0, 1e-4, 12.0, 90.0, 700.0, 1e4], dtype=dtype)
    x = torch.full((11, 3), float("nan"), dtype=dtype)
    x[:, 0], x[:, 2] = grid, float("inf")
    mask = torch.tensor([True, False, False]).expand(11, 3).clone()
    mask[5] = False
    for gauge in GAUGES:
        for row in range(11):
            one = x[row : row + 1].clone().requires_grad_()
            keep = mask[row : row + 1] if row != 5 else torch.tensor([[True, False, False]])
            loss = generator_loss(divergence, one, keep, gauge=gauge, level=level)
            loss.backward()
            assert not loss.isnan()
            assert not one.grad.isnan().any()
            assert (one.grad[0, 1:] == 0).all()
    moderate = x.clone()
    moderate[:, 0] = moderate[:, 0].clamp(-2, 2)
    moderate.requires_grad_()
    whole = generator_loss(divergence, moderate, mask, level=level, reduction="sequence_mean")
    whole.backward()
    assert (moderate.grad[5] == 0).all()
    rest = torch.arange(11) != 5
    without = generator_loss(divergence, moderate[rest], mask[rest], level=level, reduction="sequence_mean")
    assert whole.item() == pytest.approx(without.item(), rel=1e-6, abs=1e-6)


X, MASK = torch.zeros(2, 3), torch.ones(2, 3, dtype=torch.bool)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"divergence": "kl"}, r"divergence='kl'.*one of forward_kl, reverse_kl, jensen_shannon"),
        ({"level": "row"}, r"level='row'.*token, sequence"),
        ({"reduction": "mean"}, r"reduction='mean'.*token_mean, sequence_mean, sum"),
        ({"gauge": "raw"}, r'gauge=\'raw\'.*"printed", "normalised", or a finite number'),
        ({"gauge": float("nan")}, r"gauge=nan"),
        ({"log_ratio": X.long()}, r"log_ratio\.dtype=torch\.int64"),
        ({"mask": MASK[:, :2]}, r"log_ratio \(2, 3\), mask \(2, 2\)"),
        ({"mask": MASK & False}, r"all 6 tokens masked"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        generator_loss(**{"divergence": "forward_kl", "log_ratio": X, "mask": MASK, **arguments})


def test_the_kink_of_total_variation_has_the_middle_slope():
    x = torch.zeros(1, 1, requires_grad=True)
    generator_loss(TOTAL_VARIATION, x, ALL).backward()
    assert x.grad == 0


@given(st.floats(-5, 5))
def test_gauge_zero_is_the_printed_one(x):
    at = torch.tensor([[x]])
    assert generator_loss("reverse_kl", at, ALL, gauge=0) == generator_loss("reverse_kl", at, ALL)


@every
@pytest.mark.parametrize("level", ["token", "sequence"])
@pytest.mark.parametrize("gauge", GAUGES[:3])
def test_tokens_without_mass_give_the_limits_of_the_generator(divergence, gauge, level):
    for x in (-np.inf, np.inf):
        log_ratio = torch.full((1, 1), x, dtype=torch.float64, requires_grad=True)
        loss = generator_loss(divergence, log_ratio, ALL, gauge=gauge, level=level)
        loss.backward()
        assert not log_ratio.grad.isnan()
        assert not loss.isnan()
        if x < 0 and gauge == "printed":
            assert loss.item() == pytest.approx(float(divergence.at_zero))
