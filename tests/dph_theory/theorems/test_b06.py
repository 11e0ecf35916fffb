import numpy as np
import pytest

from dph_theory.estimators import K1, K2, K3
from dph_theory.theorems import b06

PI, REF = np.array([[0.5, 0.3, 0.2]]), np.array([[0.2, 0.2, 0.6]])
STEP = 1e-30


def reverse_kl(pi):
    return (pi * np.log(pi / REF[0])).sum()


def forward_kl(pi):
    return (REF[0] * np.log(REF[0] / pi)).sum()


def complex_step_gradient(function):
    """The gradient in logits to the last digit: Im f(theta + ih)/h subtracts nothing."""
    gradient = []
    for direction in np.eye(3):
        weights = np.exp(np.log(PI[0]) + 1j * STEP * direction)
        gradient.append(function(weights / weights.sum()).imag / STEP)
    return np.array([gradient])


def test_values():
    assert b06.expected_k1_and_k3(PI, REF)[0] == pytest.approx([0.360062440636] * 2, abs=5e-13)
    log_ratio = np.log(PI / REF)
    assert K2.expected_value(PI, REF) == pytest.approx((PI * log_ratio**2 / 2).sum(axis=-1), rel=1e-13)
    assert abs(K2.expected_value(PI, REF) - 0.360062440636) > 0.004, "k2 is biased"


def test_k1_as_a_loss_does_nothing():
    assert K1.loss_gradient(PI, REF) == pytest.approx(np.zeros((1, 3)), abs=1e-16)


@pytest.mark.parametrize(
    ("gradient", "descended", "not_descended"),
    [
        (K2.loss_gradient, reverse_kl, forward_kl),
        (K3.loss_gradient, forward_kl, reverse_kl),
        (K3.corrected_loss_gradient, reverse_kl, forward_kl),
        (K1.reward_gradient, reverse_kl, forward_kl),
    ],
)
def test_the_gradient_is_that_of(gradient, descended, not_descended):
    assert gradient(PI, REF) == pytest.approx(complex_step_gradient(descended), rel=1e-12)
    assert abs(gradient(PI, REF) - complex_step_gradient(not_descended)).max() > 0.05


def test_the_forward_kl_gradient_is_policy_minus_reference():
    assert K3.loss_gradient(PI, REF) == pytest.approx(PI - REF, rel=1e-13)
