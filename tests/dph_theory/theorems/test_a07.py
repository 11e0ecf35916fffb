import numpy as np
import pytest

from dph_theory.binary_reward import filtered
from dph_theory.divergences import REVERSE_KL
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import a07


def test_the_identity_by_hand():
    # q = (3, 1)/4 on Y1, p_* = (2, 1)/3, A1 = .3.
    q, target = np.array([3, 1]) / 4, np.array([2, 1]) / 3
    by_hand = (q * np.log(q / target)).sum() - np.log(0.3)
    for side in a07.PYTHAGORAS.sides(as_floats(a07.PYTHAGORAS.examples[0].parts)):
        assert side == pytest.approx(by_hand, rel=1e-14)


def test_the_filtered_model_is_at_minus_log_rate_and_others_are_farther():
    base = np.array([[0.15, 0.1, 0.45, 0.3]])
    assert REVERSE_KL(filtered(base, a07.VALID), base) == pytest.approx(-np.log(0.7), rel=1e-14)
    assert a07.farther_than_least(filtered(base, a07.VALID), base) == pytest.approx(0, abs=1e-15)
    for other in ([0.3, 0.25, 0.25, 0.2], [0.1, 0.2, 0.4, 0.3]):
        policy = np.array([other])
        assert a07.farther_than_least(policy, base) > a07.margin(policy, base) > 1e-3
