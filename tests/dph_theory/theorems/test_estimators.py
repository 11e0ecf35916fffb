import numpy as np
import pytest

from dph_theory.intervals import smoothed_rate
from dph_theory.theorems._estimators import K1, K2, K3, alpha_dpg_reward, k2_of_ratio, k3_of_ratio


def test_k3_keeps_its_digits_near_equality():
    assert K3.on_samples(1e-9) == pytest.approx(5e-19, rel=1e-8)
    assert all(e.on_samples(0.0) == 0 for e in (K1, K2, K3))


def test_losses_of_the_ratio_are_the_estimators_with_the_roles_exchanged():
    ratio = np.array([0.2, 1.0, 3.0])
    assert k2_of_ratio(ratio) == pytest.approx(K2.on_samples(-np.log(ratio)), rel=1e-14)
    assert k3_of_ratio(ratio) == pytest.approx(ratio - 1 - np.log(ratio), abs=1e-15)


def test_the_alpha_dpg_reward_tends_to_the_log_ratio_and_keeps_its_digits():
    pi, base, valid = (np.array(part) for part in ((0.2, 0.3, 0.5), (0.3, 0.2, 0.5), (True, True, False)))
    limit = np.log(np.array((0.6, 0.4)) / pi[:2])
    for alpha in (1e-8, 1e-12, 1e-300):
        assert alpha_dpg_reward(pi, base, valid, alpha)[:2] == pytest.approx(limit, rel=1e-7 + alpha)


def test_smoothed_rates_are_never_0_or_1_and_symmetric():
    rates = smoothed_rate(np.array([0, 2, 4]), 4)
    assert rates.tolist() == [0.1, 0.5, 0.9]
