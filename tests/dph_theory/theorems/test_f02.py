import numpy as np
import pytest

from dph_theory.theorems import f02


def test_at_one_percent():
    rare = np.array([0.01])
    assert f02.population(rare)[0, 0] == pytest.approx(10.05, abs=5e-3)
    assert f02.weights(rare)[0, 1] == pytest.approx(2.44, abs=5e-3)
