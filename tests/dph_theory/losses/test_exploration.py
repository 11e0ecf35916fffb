import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.hypothesis_strategies import laws

from dph_theory.losses import MAXRL, group_advantages, informative_groups, ppo_clip_loss
from dph_theory.stationary import group_weight

CLIP = {"clip_low": 0.2, "clip_high": 0.28}
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def batch(seed, rows=5, columns=7):
    generator = torch.Generator().manual_seed(seed)
    log_pi, log_old = (0.4 * torch.randn(rows, columns, generator=generator).double() - 1 for _ in range(2))
    advantages = torch.randn(rows, generator=generator).double()
    mask = torch.rand(rows, columns, generator=generator) < 0.7
    mask[0, 0] = True
    return log_pi.requires_grad_(), log_old, advantages, mask


def textbook(log_ratio, advantages, dual_clip):
    """The clipped surrogate as the papers print it."""
    ratio = log_ratio.exp()
    objective = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.28) * advantages)
    if dual_clip is not None:
        objective = torch.where(advantages < 0, objective.maximum(dual_clip * advantages), objective)
    return -objective


@given(st.integers(0, 2**31), st.sampled_from([None, 1.5]))
def test_value_and_gradient_are_the_textbooks(seed, dual_clip):
    log_pi, log_old, advantages, mask = batch(seed)
    for level in ("token", "sequence"):
        x = log_pi - log_old
        x = x if level == "token" else (x * mask).sum(dim=1, keepdim=True)
        terms = mask if level == "token" else mask.any(dim=1, keepdim=True)
        expected = (textbook(x, advantages[:, None], dual_clip) * terms).sum() / mask.sum()
        computed = ppo_clip_loss(log_pi, log_old, advantages, mask, level=level, dual_clip=dual_clip, **CLIP)
        assert computed.item() == pytest.approx(expected.item(), rel=1e-12, abs=1e-14)
        gradients = [torch.autograd.grad(loss, log_pi)[0] for loss in (computed, expected)]
        torch.testing.assert_close(*gradients, rtol=1e-11, atol=1e-14)


def test_advantages_may_differ_by_token():
    log_pi, log_old, advantages, mask = batch(0)
    wide = advantages[:, None].expand(mask.shape)
    one, other = (ppo_clip_loss(log_pi, log_old, a, mask, **CLIP) for a in (wide, advantages))
    assert one == other


@given(pi=laws(), rewards=st.lists(st.floats(-2, 2), min_size=4, max_size=4))
def test_expected_gradient_on_policy_is_the_policy_gradient(pi, rewards):
    theta = torch.tensor(np.log(pi), requires_grad=True)
    log_pi = torch.log_softmax(theta, 0)[:, None]
    advantages, one = torch.tensor(rewards, dtype=torch.float64), torch.ones(1, 1)
    losses = [
        ppo_clip_loss(log_pi[y : y + 1], log_pi.detach()[y : y + 1], advantages[y : y + 1], one, **CLIP)
        for y in range(4)
    ]
    sum(p * loss for p, loss in zip(pi.tolist(), losses, strict=True)).backward()
    exact = pi * (np.array(rewards) - pi @ np.array(rewards))
    np.testing.assert_allclose(theta.grad.numpy(), -exact, atol=1e-10)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("advantage", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("dual_clip", [None, 3.0])
def test_extreme_ratios_are_never_nan(dtype, advantage, dual_clip):
    for x in (-1e4, -100.0, 0.0, 100.0, 1e4):
        log_pi = torch.tensor([[x, float("nan")]], dtype=dtype).requires_grad_()
        mask = torch.tensor([[True, False]])
        loss = ppo_clip_loss(
            log_pi, torch.zeros_like(log_pi), torch.tensor([advantage]), mask, dual_clip=dual_clip, **CLIP
        )
        loss.backward()
        assert not loss.isnan()
        assert not log_pi.grad.isnan().any()
        assert log_pi.grad[0, 1] == 0
        if dual_clip is not None or advantage >= 0:
            assert loss.isfinite()
        if advantage == 0:
            assert loss == 0


@given(st.lists(st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=4), min_size=1, max_size=3))
def test_group_advantages_are_centred_and_of_unit_deviation(rewards):
    rewards = torch.tensor(rewards, dtype=torch.float64)
    plain, unit = (group_advantages(rewards, divided_by=divisor) for divisor in ("none", "std"))
    np.testing.assert_allclose(plain.mean(dim=1), 0, atol=1e-10)
    rest_mean = (rewards.sum(dim=1, keepdim=True) - rewards) / 3
    for baseline, taken in (("none", 0.0), ("one", 1.0)):
        assert torch.equal(group_advantages(rewards, divided_by="none", baseline=baseline), rewards - taken)
    left_out = group_advantages(rewards, divided_by="none", baseline="leave_one_out")
    np.testing.assert_allclose(left_out, rewards - rest_mean, atol=1e-10)
    deviation = unit.square().mean(dim=1).sqrt()
    np.testing.assert_allclose(deviation, informative_groups(rewards).double(), rtol=1e-9)
    for dtype in DTYPES:
        assert (group_advantages(torch.full((2, 7), 0.1, dtype=dtype)) == 0).all()


def test_grpo_advantages_of_binary_rewards():
    rewards = torch.tensor([[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    advantages = group_advantages(rewards)
    np.testing.assert_allclose(advantages[0], [3**0.5, -(3**-0.5), -(3**-0.5), -(3**-0.5)], rtol=1e-6)
    assert informative_groups(rewards).tolist() == [True, False]


@pytest.mark.parametrize("advantage", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("log_old", [-np.inf, -1.0])
def test_tokens_without_mass_give_no_nan(advantage, log_old):
    log_pi = torch.full((1, 1), -np.inf, requires_grad=True)
    arguments = torch.full((1, 1), log_old), torch.tensor([advantage]), torch.ones(1, 1)
    loss = ppo_clip_loss(log_pi, *arguments, **CLIP)
    loss.backward()
    ratio = 1.0 if log_old == -np.inf else 0.8 if advantage < 0 else 0.0
    assert loss.item() == pytest.approx(-advantage * ratio)
    assert not log_pi.grad.isnan()


def test_advantages_divided_by_the_mean_are_maxrl_s():
    """(r - m)/m, an all-wrong group zero, whose weight of grad V is (1 - (1-V)^(G-1))/V."""
    rewards = torch.tensor([[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0], [0.0] * 4, [1.0] * 4])
    advantages = group_advantages(rewards, divided_by="mean")
    expected = [[3, -1, -1, -1], [1 / 3, 1 / 3, 1 / 3, -1], [0] * 4, [0] * 4]
    np.testing.assert_allclose(advantages, expected, rtol=1e-6)
    for size, rate in ((4, 0.3), (16, 0.05)):
        assert MAXRL.objective(size).advantage.scale == "mean"
        weight = group_weight(size, rate, "mean")
        assert weight == pytest.approx((1 - (1 - rate) ** (size - 1)) / rate)
