import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toy_lm.strategies.measure import mean_pass_at_k, measure
from toy_lm.strategies.policy import Policy, law
from toy_lm.strategies.task import task
from toy_lm.strategies.train import Optimiser, train

TASK = task(np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.4]), easy_rate=0.9, hard_rate=0.25)
COLLAPSED = np.array([[0.1, 0, 0.9, 0], [0.5, 0, 0.5, 0], [1, 0, 0, 0]])
"""Only the first strategy is left, and passes on its own type with probability one half."""


def test_the_base_by_hand():
    found = measure(TASK.base_law, TASK, 2)
    rates = np.array([0.9, 0.15, 0.1])
    assert found.pass_at_1 == pytest.approx(TASK.weights @ rates, rel=1e-14)
    assert found.pass_at_k == pytest.approx(TASK.weights @ (1 - (1 - rates) ** 2), rel=1e-14)
    assert found.excess_kl == pytest.approx(0, abs=1e-15)
    np.testing.assert_allclose([found.easy_rate, found.guarantee], 0.9, rtol=1e-14)
    assert found.easy_entropy == pytest.approx(-(0.6 * np.log(0.6) + 0.4 * np.log(0.4)), rel=1e-14)


def test_the_collapsed_policy_by_hand():
    found = measure(COLLAPSED, TASK, 16)
    assert found.pass_at_1 == pytest.approx(0.5 * 0.9 + 0.3 * 0.5, rel=1e-14)
    # On the easy type both parts narrow to the first strategy, on H_1 the failures do, on H_2 too.
    excess = 0.5 * np.log(1 / 0.6) + 0.3 * 0.5 * np.log(0.85 / 0.45) + 0.2 * np.log(0.9 / 0.6)
    assert found.excess_kl == pytest.approx(excess, rel=1e-13)
    assert found.easy_entropy == 0
    # A strategy that is gone takes the whole guarantee with it, not the pass rate.
    assert (found.guarantee, found.easy_rate) == (0, pytest.approx(0.9))


def test_pass_at_k_takes_a_batch_and_several_k():
    batch = np.stack([TASK.base_law, COLLAPSED])
    curves = mean_pass_at_k(batch, TASK, np.array([1, 2, 16]))
    assert curves.shape == (2, 3)
    for column, k in enumerate((1, 2, 16)):
        np.testing.assert_array_equal(curves[:, column], mean_pass_at_k(batch, TASK, k))
    assert (np.diff(curves, axis=1) >= 0).all()


def test_a_batch_of_tasks_is_measured_each_with_its_own_weights():
    tasks = TASK._replace(
        weights=np.stack([TASK.weights, TASK.weights[::-1]]),
        base=np.stack([TASK.base, TASK.base]),
        hard_rate=np.stack([TASK.hard_rate, TASK.hard_rate]),
    )
    found = measure(tasks.base_law, tasks, 2)
    np.testing.assert_allclose(found.pass_at_1, [0.515, 0.2 * 0.9 + 0.045 + 0.05], rtol=1e-14)


def test_the_guarantee_holds_along_training_and_falls_with_the_strategies():
    run = train(TASK, None, np.array(0.0), np.array(0.1), Optimiser(0.5, 200, 8), np.arange(201))
    found = measure(run, TASK, 16)
    assert (found.guarantee <= found.easy_rate + 1e-15).all()
    assert (np.diff(found.guarantee) < 0).all()
    assert found.guarantee[-1] < 0.8 * found.guarantee[0]


@given(st.lists(st.floats(-30, 30), min_size=10, max_size=10))
def test_of_any_policy_the_bounds_hold(parameters):
    theta, phi, skill = np.split(np.array(parameters), [2, 8])
    outcomes = law(Policy(theta, phi.reshape(3, 2), skill), TASK, np.array(1.0)).outcomes
    found = measure(outcomes, TASK, 8)
    assert found.guarantee <= found.easy_rate + 1e-15
    assert found.excess_kl >= 0
    assert found.pass_at_1 <= found.pass_at_k + 1e-15
    assert 0 <= found.easy_entropy <= np.log(2) + 1e-15
