import numpy as np
import pytest

from dph_theory.theorems import f03


def test_pairs_ascend_pass_at_one_only():
    rates = np.array([0.1, 0.7])
    assert f03.weights(rates)[:, 0] == pytest.approx([1, 1], rel=1e-14)
    assert f03.slopes(rates)[:, 0] == pytest.approx([1.9, 1.3], rel=1e-14)
