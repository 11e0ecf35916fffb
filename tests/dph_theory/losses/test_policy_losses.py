import math

import pytest
import torch

from dph_theory.losses import policy_losses as f
from dph_theory.losses.released import answer_sum

E = math.e


def token(surrogate, x, advantage, old=-3.0):
    """Surrogate and slope in log pi of one token of log ratio x."""
    log_pi = torch.tensor([[old + x]], dtype=torch.float64, requires_grad=True)
    log_old, a = (torch.full((1, 1), y, dtype=torch.float64) for y in (old, advantage))
    value = surrogate(log_pi, log_old, a, torch.ones_like(a)).sum()
    (slope,) = torch.autograd.grad(value, log_pi, allow_unused=True)
    return float(value.detach()), 0.0 if slope is None else float(slope)


@pytest.mark.parametrize(
    ("surrogate", "x", "advantage", "found"),
    [
        (f.clipped(), 0.1, 2.0, (2 * E**0.1, 2 * E**0.1)),
        (f.clipped(), 1.0, 2.0, (2.4, 0)),
        (f.clipped(), 1.0, -2.0, (-2 * E, -2 * E)),
        (f.clipped(), -1.0, -2.0, (-1.6, 0)),
        (f.clipped(dual=3.0), 2.0, -2.0, (-6, 0)),
        (f.clipped(delta=4.0), 2.0, -2.0, (-8, 0)),
        (f.clipped(inner=20.0), 21.0, -1.0, (-(E**20), 0)),
        (f.clipped(0.2, 0.272), 1.0, 1.0, (1.272, 0)),
        (f.reinforce, 1.0, 2.0, (-4, 2)),
        (f.held_ratio(None, 0.2), 0.0, 2.0, (0.4 * -3, 0.4)),
        (f.held_ratio(0.8, 1.2), 1.0, 2.0, (2.4 * -2, 2.4)),
        (f.held_ratio(0.8, 1.2), -1.0, 2.0, (1.6 * -4, 1.6)),
        (f.soft_gate(1.0, 1.05), 0.0, 2.0, (4, 2)),
        (f.soft_gate(2.0, 1.0), math.log(2), 1.0, (2 / (1 + E**-2), 8 * E**2 / (1 + E**2) ** 2)),
        (f.gamma_weight, math.log(2), 1.0, (4 * E**-3 * (math.log(2) - 3), 4 * E**-3)),
        (f.gamma_weight, math.log(2), -1.0, (-8 * E**-2 * (math.log(2) - 3), -8 * E**-2)),
        (f.geometric_mean, 1.0, 2.0, (2 * E**0.2, 0)),
        (f.geometric_mean, 1.0, -2.0, (-2 * E, -2 * E)),
        (f.probability_region(0.2, binary_kl=False), 2.9, 2.0, (0, 0)),
        (f.probability_region(0.2, binary_kl=False), 2.9, -2.0, (-6 * -0.1, -6)),
        (f.probability_region(0.2, binary_kl=True), 1.0, 2.0, (2 * E * -2, 2 * E)),
        (f.probability_region(0.01, binary_kl=True), 1.0, 2.0, (0, 0)),
        (f.masked_ratio(0.2, 0.5), 2.9, 2.0, (-0.5 * 2.9**2, -2.9)),
        (f.masked_ratio(0.2, 0.5), 1.0, 2.0, (2 * E - 0.5, 2 * E - 1)),
        (f.masked_ratio(0.01, 0.0, both_ways=True), 1.0, -2.0, (0, 0)),
        (f.quadratic(0.1), 2.0, 3.0, (-3 - 0.2, 3 - 0.2)),
        (f.penalised_covariance(coefficient=0.1), -2.0, 3.0, (3 * E**-2 - 0.2, 3 * E**-2 + 0.1)),
        (f.corrected_for_the_sampler(f.clipped(), f.truncated(3.0)), 2.0, 2.0, (6, 6)),
        (f.corrected_for_the_sampler(f.clipped(), f.truncated(3.0)), 1.0, -2.0, (-2 * E, -2 * E)),
    ],
)
def test_the_formulas_by_numbers(surrogate, x, advantage, found):
    assert token(surrogate, x, advantage) == pytest.approx(found)


LOG_PI = torch.tensor([[-1.0, -2.0, -9.0], [-0.5, -9.0, -9.0]], dtype=torch.float64)
LOG_OLD = torch.tensor([[-1.1, -2.1, -1.0], [-0.5, -9.0, -1.0]], dtype=torch.float64)
MASK = torch.tensor([[1.0, 1, 0], [1, 0, 0]], dtype=torch.float64)


def test_ratios_of_a_sequence_and_how_tokens_add_up():
    assert f.sequence_log_ratio(LOG_PI, LOG_OLD, MASK)[:, 0].tolist() == pytest.approx([0.1, 0])
    leaf = LOG_PI.clone().requires_grad_()
    held = f.held_sequence_log_ratio(leaf, LOG_OLD, MASK)
    assert held[0, :2].tolist() == pytest.approx([0.1, 0.1])
    (slope,) = torch.autograd.grad(held[0, 0], leaf)
    assert slope[0].tolist() == [1, 0, 0]
    values = torch.tensor([[1.0, 3.0, 50.0], [5.0, 50.0, 50.0]], dtype=torch.float64)
    assert [float(r(values, MASK)) for r in (f.sequence_mean, answer_sum, f.over_length(4), f.total)] == [
        *(3.5, 4.5, 1.125, 9)
    ]


def test_covariances_choose_tokens():
    advantages = torch.tensor([[1.0] * 3, [-2.0] * 3], dtype=torch.float64)
    mean = -3.5 / 3
    found = f.covariances(LOG_PI, advantages, MASK)
    assert found[0, :2].tolist() == pytest.approx([1 * (-1 - mean), 1 * (-2 - mean)])
    assert found[1, 0].item() == pytest.approx(-2 * (-0.5 - mean))
    assert found[0, 2] == -math.inf
    # The largest is the first token's: it alone pays for its log ratio of 0.1.
    plain = torch.exp(LOG_PI - LOG_OLD) * advantages
    paid = plain - f.penalised_covariance(coefficient=0.1)(LOG_PI, LOG_OLD, advantages, MASK)
    assert (paid * MASK).tolist() == [[pytest.approx(0.01), 0, 0], [0, 0, 0]]
    # Two candidates and one draw: each counts half.
    clipped = f.clipped_covariance(low=-1.0, high=5.0)
    ratio = clipped(LOG_PI, LOG_OLD, advantages, MASK) / f.clipped()(LOG_PI, LOG_OLD, advantages, MASK)
    assert (ratio * MASK).tolist() == [[0.5, 0.5, 0], [1, 0, 0]]
