import numpy as np
import pytest
from scipy.optimize import brentq

from dph_theory import grpo
from dph_theory.numeric.balls import expit, logit
from dph_theory.theorems import a11


def next_validity(base_rate, beta, p):
    return expit(grpo.next_log_odds(logit(base_rate), beta, logit(p)))


def test_two_fixed_points_yet_the_iterates_run_to_one():
    base_rate, beta = np.array([0.1]), np.array([0.75])
    assert a11.first_fixed_point(base_rate, beta) == pytest.approx(0.64196, abs=5e-6)
    second = brentq(lambda p: next_validity(0.1, 0.75, p) - p, 0.8, 0.95, xtol=1e-14)
    assert second == pytest.approx(0.89376, abs=5e-6)
    odds = np.exp(40 / 9) / 9
    assert next_validity(0.1, 0.75, 0.1) == pytest.approx(odds / (1 + odds), rel=1e-13)
    assert next_validity(0.1, 0.75, 0.1) > second
    assert a11.after_rounds(base_rate, beta) == pytest.approx(1, abs=1e-15)


def test_a_two_cycle_around_the_first_fixed_point():
    low, high = 0.01770608262433, 0.2533640356081
    assert next_validity(0.005, 1.8, low) == pytest.approx(high, rel=1e-11)
    assert next_validity(0.005, 1.8, high) == pytest.approx(low, rel=1e-11)
    base_rate, beta = np.array([0.005]), np.array([1.8])
    assert a11.after_rounds(base_rate, beta) == pytest.approx(low, rel=1e-11)
    assert low < a11.first_fixed_point(base_rate, beta) < high


@pytest.mark.parametrize(("base_rate", "count"), [(0.1, 2), (0.12, 2), (0.13, 0), (0.5, 0)])
def test_the_least_rise_counts_the_fixed_points(base_rate, count):
    p = expit(np.linspace(logit(base_rate), 40, 200_001))
    with np.errstate(over="ignore"):
        signs = np.sign(a11.rise(base_rate, 0.75, p[p < 1]))
    assert (np.diff(signs) != 0).sum() == count
    assert (grpo.least_rise(base_rate, 0.75) < 0) == (count == 2)
