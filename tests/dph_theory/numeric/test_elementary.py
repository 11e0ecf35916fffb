import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dph_theory.numeric.elementary import exp_remainder, log_ratio


@given(st.floats(-20, 2.8), st.booleans())
def test_exp_remainder_in_60_digits(magnitude, negative):
    x = -(10**magnitude) if negative else 10**magnitude
    with mpmath.workdps(60):
        exact = mpmath.expm1(mpmath.mpf(x)) - mpmath.mpf(x)
        assert exp_remainder(np.float64(x)) == pytest.approx(float(exact), rel=3e-15, abs=0)


@given(st.floats(1e-300, 1e300), st.floats(-0.4, 0.4))
def test_log_ratio_of_close_masses(q, change):
    p = q * (1 + change)
    with mpmath.workdps(40):
        exact = float(mpmath.log(mpmath.mpf(p) / mpmath.mpf(q)))
    assert log_ratio(np.float64(p), np.float64(q)) == pytest.approx(exact, rel=1e-14, abs=0)
