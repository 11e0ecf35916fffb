import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.hypothesis_strategies import laws, verifiers

from dph_theory import pass_rate
from dph_theory.losses import alpha_dpg_rewards, clipped_ratio_count
from dph_theory.theorems._estimators import alpha_dpg_reward


@given(base=laws(), pi=laws(), valid=verifiers(), alpha=st.floats(0.05, 1))
def test_rewards_are_the_exact_ones(base, pi, valid, alpha):
    rate = torch.tensor(np.log(pass_rate(base, valid)), dtype=torch.float64).clamp(max=0)
    log_pi, log_base = (torch.tensor(np.log(policy)) for policy in (pi, base))
    rewards = alpha_dpg_rewards(log_pi, log_base, torch.tensor(valid), rate, alpha)
    np.testing.assert_allclose(rewards, alpha_dpg_reward(pi, base, valid, alpha), rtol=1e-9, atol=1e-12)


def test_the_clip_bounds_the_ratio_and_is_counted():
    log_pi, log_base = torch.tensor([[-90.0, -1.0, float("nan")]]), torch.tensor([[-1.0, -2.0, -3.0]])
    valid, rate = torch.tensor([[True, True, False]]), torch.tensor([-0.5])
    rewards = alpha_dpg_rewards(log_pi, log_base, valid, rate, 1.0, ratio_clip=10.0)
    assert rewards.tolist()[0] == pytest.approx([9.0, np.exp(-0.5) - 1, -1.0])
    assert clipped_ratio_count(log_pi, log_base, valid, rate, ratio_clip=10.0) == 1


def test_samples_without_mass_give_limits():
    log_pi, log_base = torch.tensor([-np.inf, -1, -np.inf]), torch.tensor([-1, -np.inf, -np.inf])
    rewards = alpha_dpg_rewards(log_pi, log_base, torch.ones(3), torch.tensor(-0.5), 0.5)
    assert rewards.tolist() == [np.inf, -2, -2]
