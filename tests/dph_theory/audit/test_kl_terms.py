import pytest
import torch

from dph_theory.audit.kl_terms import in_reward, k1, k2, k3, straight_through, to_sampler, within

PI, REF = torch.tensor([[-1.0, -9.0]], requires_grad=True), torch.tensor([[-2.0, -1.0]])
MASK = torch.ones(1, 2)


def test_estimates_and_their_clamps():
    assert k1(PI, REF).tolist() == [[1, -8]]
    assert within(k1, 3.0, None)(PI, REF).tolist() == [[1, -3]]
    assert within(k3, None, 10.0)(PI, REF)[0, 1] == 10
    assert within(k2, 4.0, 5.0)(PI, REF).tolist() == [[0.5, 5]]


def test_value_and_gradient_can_be_those_of_two():
    value = straight_through(k1)(PI, REF, MASK)
    (slope,) = torch.autograd.grad(value, PI)
    assert value.item() == pytest.approx(-3.5)
    assert slope.tolist() == [[0.5, -4]]


def test_a_cost_in_the_reward_is_the_whole_answer_s():
    assert in_reward(k1)(PI, REF, MASK).item() == (-1 - 9) * (1 - 8)
    assert to_sampler(PI, REF, MASK).item() == 1 + 64
