import numpy as np
import pytest

from dph_theory.coverage import pass_at_k
from dph_theory.theorems import f06


def test_rho_is_the_unbiased_estimate():
    for n, c, k in ((10, 3, 4), (5, 0, 2), (5, 5, 5)):
        top, bottom = f06.rho(n, c, k)
        assert top / bottom == pytest.approx(pass_at_k(n, c, k), rel=1e-12)


def test_the_slope_at_one_half():
    assert f06.expected_gradient(np.array([0.5]))[0] == pytest.approx([1, 0.75, 8 / 2**7], rel=1e-12)
