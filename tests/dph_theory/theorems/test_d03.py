import numpy as np
import pytest

from dph_theory import strategies
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import d03

WITNESS = as_floats(d03.SHARED.examples[0].parts)
MODEL = {name: WITNESS[name] for name in ("q", "rho", "success")}
TWO = np.array([2])


def trained_for(gain):
    gain = np.array([float(gain)])
    return (
        d03.pass_at_1(**MODEL, gain=gain).item(),
        strategies.trained_pass_at_k(**MODEL, k=TWO, gain=gain).item(),
    )


def test_pass_at_1_rises_and_pass_at_2_falls():
    assert trained_for(0) == pytest.approx((0.5, 0.75), rel=1e-14)
    # q = 1/(1+e^-2) on the first strategy after gain 10: the rewards are .6 and .4.
    q = 1 / (1 + np.exp(-2))
    assert trained_for(10) == pytest.approx(
        (0.6 * q + 0.4 * (1 - q), 0.6 * (1 - (1 - q) ** 2) + 0.4 * (1 - q**2)), rel=1e-14
    )
    assert trained_for(1000) == pytest.approx((0.6, 0.6), rel=1e-14)


def test_a_policy_per_type_solves_both():
    q = np.repeat(MODEL["q"][:, None, :], 2, axis=1)
    after = d03.after(q, MODEL["rho"], MODEL["success"], TWO, np.array([40.0]))
    assert after == pytest.approx(1, rel=1e-15)
