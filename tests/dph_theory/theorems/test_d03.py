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


def test_the_limit_is_the_best_strategy_for_every_number_of_draws():
    also, gain = np.zeros((1, 2, 2)), np.array([500.0])
    assert d03.best_reward(MODEL["rho"], also) == pytest.approx(0.6, rel=1e-15)
    for k in (1, 10, 100):
        after = strategies.trained_pass_at_k(**MODEL, k=np.array([k]), gain=gain)
        assert after == pytest.approx(0.6, rel=1e-12)
    base = d03.base_pass_at_k(MODEL["q"], MODEL["rho"], also, np.array([60]))
    assert base == pytest.approx(1, rel=1e-15)


def test_a_policy_per_type_solves_both():
    q = np.repeat(MODEL["q"][:, None, :], 2, axis=1)
    after = d03.after(q, MODEL["rho"], MODEL["success"], TWO, np.array([40.0]))
    assert after == pytest.approx(1, rel=1e-15)


def test_each_type_is_solved_by_some_strategy_and_none_solves_all():
    for also in (np.zeros((1, 3, 3)), np.ones((1, 3, 3))):
        success = d03.solving(also)[0]
        assert (success.max(axis=1) == 1).all()
        assert (success.min(axis=0) == 0).all()
