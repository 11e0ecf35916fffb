import mpmath
import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from support.hypothesis_strategies import laws

from dph_theory import REVERSE_KL
from dph_theory.losses import PENALTIES, kl_penalty
from dph_theory.theorems._estimators import K1, K2, K3

ONE = torch.ones(1, 1)


def expected_gradient(estimator, pi, ref):
    """The mean over samples of the policy of the gradient of the penalty at each, in logits."""
    theta = torch.tensor(np.log(pi), requires_grad=True)
    log_pi, log_ref = torch.log_softmax(theta, 0), torch.tensor(ref).log()
    losses = []
    for y in range(len(pi)):
        at, to = log_pi[y, None, None], log_ref[y, None, None]
        old = {"log_old": at.detach()} if estimator == "k3_corrected" else {}
        losses.append(kl_penalty(estimator, at, to, ONE, **old))
    sum(p * loss for p, loss in zip(pi.tolist(), losses, strict=True)).backward()
    return theta.grad.numpy()


@given(pi=laws(), ref=laws())
def test_loss_gradients_are_the_enumerated_ones(pi, ref):
    for estimator in (K1, K2, K3):
        scale = np.abs(pi * estimator.slope(np.log(pi / ref))).sum() + 1
        exact = estimator.loss_gradient(pi, ref)
        np.testing.assert_allclose(expected_gradient(estimator.name, pi, ref), exact, atol=1e-12 * scale)
    corrected = expected_gradient("k3_corrected", pi, ref)
    np.testing.assert_allclose(corrected, REVERSE_KL.gradient(pi, ref), atol=1e-10)
    # K3's own form adds k3 and its slope, two large numbers where the ratio is, to get x.
    if (ref / pi).max() < 1e3:
        np.testing.assert_allclose(corrected, K3.corrected_loss_gradient(pi, ref), atol=1e-10)


@given(pi=laws(), ref=laws())
def test_k1_in_the_reward_gives_the_reverse_kl_gradient(pi, ref):
    log_pi, log_ref = torch.tensor(np.log(pi)).requires_grad_(), torch.tensor(np.log(ref))
    penalties = kl_penalty("k1", log_pi[None], log_ref[None], torch.ones(1, 4), form="reward")
    assert not penalties.requires_grad
    weighted = pi * penalties[0].numpy()
    np.testing.assert_allclose(weighted - pi * weighted.sum(), REVERSE_KL.gradient(pi, ref), atol=1e-10)


@pytest.mark.parametrize("estimator", [K1, K2, K3], ids=lambda estimator: estimator.name)
def test_rewards_are_the_estimates_and_zero_under_the_mask(estimator):
    log_pi, log_ref = torch.randn(3, 4, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)
    mask = torch.rand(3, 4) < 0.5
    mask[0, 0] = True
    garbage = torch.where(mask, log_pi, float("nan"))
    penalties = kl_penalty(estimator.name, garbage, log_ref, mask, form="reward")
    exact = estimator.on_samples((log_pi - log_ref).numpy())
    np.testing.assert_allclose(penalties, np.where(mask, exact, 0), rtol=1e-13)
    loss = kl_penalty(estimator.name, garbage, log_ref, mask, reduction="sum")
    assert loss.item() == pytest.approx(penalties.sum().item(), rel=1e-12)


@given(x=st.floats(-300, 300), w=st.floats(-300, 300))
def test_corrected_k3_in_60_digits(x, w):
    assume(x == 0 or abs(x) > 1e-20)
    log_pi = torch.tensor([[0.0]], dtype=torch.float64, requires_grad=True)
    log_ref, log_old = (torch.tensor([[-shift]], dtype=torch.float64) for shift in (x, w))
    loss = kl_penalty("k3_corrected", log_pi, log_ref, ONE, log_old=log_old)
    loss.backward()
    with mpmath.workdps(60):
        x, w = mpmath.mpf(x), mpmath.mpf(w)
        value, slope = mpmath.exp(w) * (mpmath.exp(-x) - 1 + x), mpmath.exp(w) * x
        for computed, true in ((loss.item(), value), (log_pi.grad.item(), slope)):
            if 1e-300 < abs(true) < 1e300:
                assert abs(computed - true) < 1e-12 * abs(true)


@pytest.mark.parametrize("estimator", PENALTIES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_extremes_are_never_nan(estimator, dtype):
    for x in (-1e4, -100.0, 0.0, 100.0, 1e4):
        for w in (-1e4, 0.0, 1e4):
            log_pi = torch.zeros(1, 1, dtype=dtype).requires_grad_()
            log_ref, log_old = (torch.full((1, 1), -shift, dtype=dtype) for shift in (x, w))
            old = {"log_old": log_old} if estimator == "k3_corrected" else {}
            loss = kl_penalty(estimator, log_pi, log_ref, ONE, **old)
            loss.backward()
            assert not loss.isnan()
            assert not log_pi.grad.isnan().any()


@pytest.mark.parametrize("estimator", PENALTIES)
@pytest.mark.parametrize("log_old", [-np.inf, -2.0])
@pytest.mark.parametrize(("log_pi", "log_ref"), [(-np.inf, -1), (-1, -np.inf), (-np.inf, -np.inf)])
def test_tokens_without_mass_give_zero_a_limit_or_inf_but_never_nan(estimator, log_pi, log_ref, log_old):
    at = torch.full((1, 1), log_pi, dtype=torch.float64, requires_grad=True)
    to, old = torch.full((1, 1), log_ref).double(), torch.full((1, 1), log_old).double()
    loss = kl_penalty(estimator, at, to, ONE, **({"log_old": old} if estimator == "k3_corrected" else {}))
    loss.backward()
    assert not loss.isnan()
    assert not at.grad.isnan()
    if log_pi == log_ref:
        assert loss == 0
    elif estimator == "k3_corrected" and log_pi == -np.inf and log_old == -2:
        # pi/old (ref/pi - 1 + log(pi/ref)) tends to ref/old.
        assert loss.item() == pytest.approx(np.e)
    else:
        assert loss.isinf()
