import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.hypothesis_strategies import laws, verifiers

from dph_theory import valid_mass
from dph_theory.estimators import alpha_dpg_reward
from dph_theory.losses import alpha_dpg_rewards, clipped_ratio_count


@given(base=laws(), pi=laws(), valid=verifiers(), alpha=st.floats(0.05, 1))
def test_rewards_are_the_exact_ones(base, pi, valid, alpha):
    rate = torch.tensor(np.log(valid_mass(base, valid)), dtype=torch.float64).clamp(max=0)
    found = alpha_dpg_rewards(
        torch.tensor(np.log(pi)), torch.tensor(np.log(base)), torch.tensor(valid), rate, alpha
    )
    np.testing.assert_allclose(found, alpha_dpg_reward(pi, base, valid, alpha), rtol=1e-9, atol=1e-12)


def test_the_example_of_the_theory():
    pi, base = torch.tensor([[0.2, 0.3, 0.5]]).double(), torch.tensor([[0.3, 0.2, 0.5]]).double()
    valid, rate = torch.tensor([[1, 1, 0]]), torch.tensor([0.5]).double().log()
    reward = alpha_dpg_rewards(pi.log(), base.log(), valid, rate, 0.5)
    pull = pi * reward
    gradient = pull - pi * pull.sum()
    np.testing.assert_allclose(gradient[0], [0.415692193817, 0.277128129211, -0.692820323028], atol=1e-12)
    assert alpha_dpg_rewards(pi.log(), base.log(), valid, rate, 1).tolist()[0] == pytest.approx(
        [2, 1 / 3, -1]
    )


def test_the_clip_bounds_the_ratio_and_is_counted():
    log_pi, log_base = torch.tensor([[-90.0, -1.0, float("nan")]]), torch.tensor([[-1.0, -2.0, -3.0]])
    valid, rate = torch.tensor([[True, True, False]]), torch.tensor([-0.5])
    found = alpha_dpg_rewards(log_pi, log_base, valid, rate, 1.0, ratio_clip=10.0)
    assert found.tolist()[0] == pytest.approx([9.0, np.exp(-0.5) - 1, -1.0])
    assert clipped_ratio_count(log_pi, log_base, valid, rate, ratio_clip=10.0) == 1


X, VALID, RATE = torch.zeros(2, 3), torch.ones(2, 3, dtype=torch.bool), torch.zeros(2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": 0.0}, r"alpha=0\.0.*\(0, inf\)"),
        ({"ratio_clip": 0.0}, r"ratio_clip=0\.0.*\(0, inf\)"),
        ({"log_pi": X.long()}, r"log_pi\.dtype=torch\.int64"),
        ({"log_base": X[:1]}, r"log_base \(1, 3\)"),
        ({"log_base_rate": RATE[:1]}, r"log_base_rate\.shape=\(1,\).*\(2,\)"),
        ({"log_base_rate": RATE + 1}, r"log_base_rate=1\.0.*at most 0"),
        ({"valid": 3 * VALID}, r"valid=3.*zeros and ones"),
    ],
)
def test_errors(arguments, message):
    right = {"log_pi": X, "log_base": X, "valid": VALID, "log_base_rate": RATE, "alpha": 0.5}
    with pytest.raises(ValueError, match=message):
        alpha_dpg_rewards(**{**right, **arguments})


def test_samples_without_mass_give_limits():
    log_pi, log_base = torch.tensor([-np.inf, -1, -np.inf]), torch.tensor([-1, -np.inf, -np.inf])
    found = alpha_dpg_rewards(log_pi, log_base, torch.ones(3), torch.tensor(-0.5), 0.5)
    assert found.tolist() == [np.inf, -2, -2]
