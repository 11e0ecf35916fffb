import numpy as np
import pytest

from dph_theory.estimators import alpha_dpg_reward, reward_gradient
from dph_theory.theorems import b07

GIVEN = {
    "pi": np.array([[0.2, 0.3, 0.5]]),
    "base": np.array([[0.3, 0.2, 0.5]]),
    "valid": np.array([[True, True, False]]),
}
HALF = b07.ALPHAS.index(0.5)
STATED = [0.415692193817, 0.277128129211, -0.692820323028]


def test_the_stated_gradient_both_ways():
    assert b07.policy_gradient(**GIVEN)[0, :, HALF] == pytest.approx(STATED, abs=5e-13)
    assert b07.downhill(**GIVEN)[0, :, HALF] == pytest.approx(STATED, abs=5e-13)


def test_the_gradient_by_complex_steps():
    target, pi = np.array([0.6, 0.4, 0.0]), GIVEN["pi"][0]

    def divergence(policy):
        # alpha = 1/2: D = 4 (1 - sum sqrt(pi p_*)).
        return 4 * (1 - np.sqrt(policy * target).sum())

    for outcome, expected in enumerate(STATED):
        weights = np.exp(np.log(pi) + 1e-30j * np.eye(3)[outcome])
        assert -divergence(weights / weights.sum()).imag / 1e-30 == pytest.approx(expected, abs=5e-13)


def test_invalid_outcomes_get_minus_one_over_alpha():
    given = {**GIVEN, "alpha": np.array([0.125])}
    assert b07.on_invalid(**given)[0].tolist() == [0.0, 0.0, -8.0]


def test_kl_dpg_is_approached_linearly():
    kl_dpg = b07.kldpg_policy_gradient(**GIVEN)
    gaps = []
    for alpha in (0.99, 0.999):
        reward = alpha_dpg_reward(GIVEN["pi"], GIVEN["base"], GIVEN["valid"], np.array([alpha]))
        gaps.append(abs(reward_gradient(GIVEN["pi"], reward) - kl_dpg).max())
    assert gaps[0] / gaps[1] == pytest.approx(10, rel=0.02)
    assert kl_dpg[0] == pytest.approx([0.4, 0.1, -0.5], rel=1e-13)


def test_the_rate_is_nearly_attained_near_one():
    given = {"pi": np.array([[0.5, 0.5]]), "target": np.array([[0.501, 0.499]]), "alpha": np.array([0.9])}
    ratio = b07.distance(**given) / b07.linear_rate(**given)
    assert ratio[0, 0] == pytest.approx(1, abs=1e-3)
    assert (ratio < 1).all()


def test_divergence_as_alpha_vanishes():
    to_filtered = b07.to_filtered(**GIVEN)[0]
    assert (np.diff(to_filtered) > 0).all()
    # Half of the policy's mass is invalid: alpha D -> 1/2.
    assert b07.SHRINKING[-1] * to_filtered[-1] == pytest.approx(0.5, abs=0.01)
