import numpy as np
import pytest

from dph_theory import grpo
from dph_theory.numeric.balls import expit, logit


def next_validity(base_rate, beta, p):
    return expit(grpo.next_log_odds(logit(base_rate), beta, logit(p)))


def test_the_outcome_level_round_reproduces_the_first_round_of_the_runaway():
    base, valid = np.array([[0.06, 0.04, 0.5, 0.4]]), np.array([[True, True, False, False]])
    next_law = grpo.grpo_round(base, base, valid, np.array([0.75]))
    assert next_law[:, :2].sum() == pytest.approx(next_validity(0.1, 0.75, 0.1), rel=1e-13)
    # Ratios within the valid and within the invalid outcomes stay those of the base.
    assert next_law[0, 0] / next_law[0, 1] == pytest.approx(1.5, rel=1e-13)
    assert next_law[0, 2] / next_law[0, 3] == pytest.approx(1.25, rel=1e-13)


def test_one_fixed_point_where_the_least_rise_vanishes():
    # logit p_ref = 2 arsinh b - 2 sqrt(1 + 1/b^2); they touch at p with sqrt(odds) = b + sqrt(1+b^2).
    base_rate = expit(2 * np.arcsinh(0.75) - 2 * np.sqrt(1 + 1 / 0.75**2))
    assert grpo.least_rise(base_rate, 0.75) == pytest.approx(0, abs=1e-14)
    touching = expit(2 * np.arcsinh(0.75))
    assert next_validity(base_rate, 0.75, touching) == pytest.approx(touching, rel=1e-14)
