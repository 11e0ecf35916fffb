import numpy as np
import pytest
from flint import arb
from hypothesis import given
from support.hypothesis_strategies import laws

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence
from dph_theory.estimators import (
    K1,
    K2,
    K3,
    alpha_dpg_reward,
    definition_form,
    generator_form,
    k2_of_ratio,
    k3_of_ratio,
    mean_on_filtered,
    reward_gradient,
    smoothed_rate,
)
from dph_theory.numeric.balls import precision

close = {"rtol": 1e-8, "atol": 1e-10}


def complex_step(function, theta):
    """The gradient of a real-analytic function of a softmax's logits, without cancellation."""
    moved = np.exp(theta + 1e-30j * np.eye(len(theta)))
    return function(moved / moved.sum(axis=-1, keepdims=True)).imag / 1e-30


@given(pi=laws(), ref=laws())
def test_values(pi, ref):
    kl = REVERSE_KL(pi, ref)
    assert K1.expected_value(pi, ref) == pytest.approx(kl, rel=1e-9, abs=1e-12)
    assert K3.expected_value(pi, ref) == pytest.approx(kl, rel=1e-9, abs=1e-12)
    assert K2.expected_value(pi, ref) == pytest.approx(
        (pi * np.log(pi / ref) ** 2).sum() / 2, rel=1e-9, abs=1e-12
    )


@given(pi=laws(), ref=laws())
def test_what_each_gradient_descends(pi, ref):
    theta = np.log(pi)
    reverse = complex_step(lambda p: (p * np.log(p / ref)).sum(-1), theta)
    forward = complex_step(lambda p: -(ref * np.log(p)).sum(-1), theta)
    np.testing.assert_allclose(K1.loss_gradient(pi, ref), 0, atol=1e-12)
    np.testing.assert_allclose(K2.loss_gradient(pi, ref), reverse, **close)
    np.testing.assert_allclose(K3.loss_gradient(pi, ref), forward, **close)
    np.testing.assert_allclose(K3.corrected_loss_gradient(pi, ref), reverse, **close)
    np.testing.assert_allclose(K1.reward_gradient(pi, ref), reverse, **close)


def test_k3_keeps_its_digits_near_equality():
    assert K3.on_samples(1e-9) == pytest.approx(5e-19, rel=1e-8)
    assert all(e.on_samples(0.0) == 0 for e in (K1, K2, K3))


def test_losses_of_the_ratio_are_the_estimators_with_the_roles_exchanged():
    ratio = np.array([0.2, 1.0, 3.0])
    assert k2_of_ratio(ratio) == pytest.approx(K2.on_samples(-np.log(ratio)), rel=1e-14)
    assert k3_of_ratio(ratio) == pytest.approx(ratio - 1 - np.log(ratio), abs=1e-15)
    # Only the correct outcomes count, and one of them has a ratio of 2.
    mean = mean_on_filtered(np.log, [0.4, 0.2, 0.4], [0.2, 0.2, 0.6], [True, True, False])
    assert mean == pytest.approx(np.log(2) / 2, rel=1e-14)


@given(pi=laws(), ref=laws())
def test_both_forms_are_unbiased(pi, ref):
    for divergence in (FORWARD_KL, JENSEN_SHANNON, alpha_divergence(0.5)):
        value = divergence(pi, ref)
        noise = 1e-9 * (1 + np.abs(np.log(pi / ref)).max())
        assert generator_form(divergence, pi, ref).mean == pytest.approx(value, rel=1e-6, abs=noise)
        assert definition_form(divergence, pi, ref).mean == pytest.approx(value, rel=1e-6, abs=noise)


def test_alpha_dpg_value_of_the_theory():
    pi, base, valid = (0.2, 0.3, 0.5), (0.3, 0.2, 0.5), (1, 1, 0)
    reward = alpha_dpg_reward(pi, base, valid, 0.5)
    assert reward[2] == -2
    gradient = reward_gradient(pi, reward)
    assert gradient == pytest.approx((0.415692193817, 0.277128129211, -0.692820323028), abs=5e-13)


def test_the_alpha_dpg_reward_tends_to_the_log_ratio_and_keeps_its_digits():
    pi, base, valid = np.array((0.2, 0.3, 0.5)), (0.3, 0.2, 0.5), (1, 1, 0)
    limit = np.log(np.array((0.6, 0.4)) / pi[:2])
    for alpha in (1e-8, 1e-12, 1e-300):
        assert alpha_dpg_reward(pi, base, valid, alpha)[:2] == pytest.approx(limit, rel=1e-7 + alpha)


def test_smoothed_rates_are_never_0_or_1_and_symmetric():
    rates = smoothed_rate(np.array([0, 2, 4]), 4)
    assert rates.tolist() == [0.1, 0.5, 0.9]


def test_the_reward_of_a_wrong_answer_is_exact_in_balls():
    with precision(128):
        law = np.array([[arb("0.2"), arb("0.3"), arb("0.5")]])
        reward = alpha_dpg_reward(law, law, np.array([[True, True, False]]), 0.3)
        # The float 0.3 taken as it is: -1/0.3 in floats would lie outside the ball.
        assert (reward[0, 2] * arb(0.3) + 1).contains(0)
