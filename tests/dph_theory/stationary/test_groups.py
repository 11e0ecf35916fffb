from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad

from dph_theory.stationary import SCALES, group_objective, group_weight, mixed_share
from dph_theory.stationary.groups import group_weight_slope

RATES = np.array([0.01, 0.1, 0.25, 0.5])


def test_values_of_the_theory():
    # With TRL's 1e-4 added to the deviation, to the digits of the theory; without it, a little more.
    with_epsilon = group_weight(8, RATES, epsilon=1e-4)
    assert with_epsilon == pytest.approx([2.4397, 2.1768, 1.8948, 1.7355], abs=5e-5)
    assert group_weight(8, RATES) == pytest.approx([2.4404, 2.1774, 1.8953, 1.7358], abs=5e-5)
    assert group_weight(8, [0, 1]) == pytest.approx([7 / np.sqrt(8)] * 2, rel=1e-14)


@pytest.mark.parametrize("scale", SCALES)
def test_the_weight_is_the_expected_gradient_of_the_advantage(scale):
    """All groups of four, listed: E[sum_i A_i d log pi(v_i)/dV]/G against alpha_G."""
    size, rate = 4, 0.3
    gradient = 0.0
    for verdicts in product((0, 1), repeat=size):
        r = np.array(verdicts, float)
        centred = r - r.mean()
        spread = {"none": 1.0, "leave_one_out": 1 - 1 / size, "mean": r.mean()}
        spread |= {"std": r.std(ddof=1), "population_std": r.std()}
        advantage = centred / spread[scale] if centred.any() else centred
        score = np.where(r == 1, 1 / rate, -1 / (1 - rate))
        gradient += np.prod(np.where(r == 1, rate, 1 - rate)) * (advantage * score).mean()
    assert group_weight(size, rate, scale) == pytest.approx(gradient, rel=1e-12)


@pytest.mark.parametrize("scale", SCALES)
def test_the_objective_is_the_integral(scale):
    for size in (2, 7):
        whole, _ = quad(lambda v, size=size: group_weight(size, v, scale), 0, 0.6, epsabs=1e-12)
        assert group_objective(size, 0.6, scale) == pytest.approx(whole, rel=1e-10)


@pytest.mark.parametrize("scale", SCALES)
def test_the_slope_is_the_derivative_of_the_weight(scale):
    step = 1e-6
    for size in (2, 6):
        ends = [group_weight(size, 0.3 + side * step, scale) for side in (-1, 1)]
        slope = (ends[1] - ends[0]) / (2 * step)
        assert group_weight_slope(size, 0.3, scale) == pytest.approx(slope, abs=1e-8)


def test_mixed_groups_at_rare_successes_keep_their_digits():
    for rate in (1e-13, 1e-17, 1e-300):
        assert mixed_share(8, rate)[1] == pytest.approx(7 * rate, rel=1e-11, abs=0)
    assert np.array(mixed_share(8, [0.0, 1.0])) == pytest.approx(np.array([[1.0, 0.0], [0.0, 1.0]]))


def test_the_smallest_rates_have_a_weight():
    # The smallest normal number, a smaller one, and the smallest: two successes have probability zero there.
    for rate in (2.3e-308, 2e-308, 5e-324):
        assert group_weight(8, rate, "std") == pytest.approx(7 / np.sqrt(8), rel=1e-12)


@pytest.mark.parametrize("size", [2, 64, 501, 502, 900])
def test_large_groups_too_have_the_closed_forms(size):
    # One more than 501 counts its probabilities in logarithms.
    rates = np.array([1e-9, 0.2, 0.5, 0.93])
    assert group_weight(size, rates, "leave_one_out") == pytest.approx(np.ones(4), rel=1e-11)
    maxrl = -np.expm1((size - 1) * np.log1p(-rates)) / rates
    assert group_weight(size, rates, "mean") == pytest.approx(maxrl, rel=1e-10)
