import numpy as np
import pytest

from toy_lm.strategies.task import random_tasks, success_rates, task

WEIGHTS, BASE = np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.4])


def test_the_base_law_is_that_of_pairs_failures_first():
    law = task(WEIGHTS, BASE, easy_rate=0.9, hard_rate=0.25).base_law
    expected = [[0.06, 0.04, 0.54, 0.36], [0.45, 0.4, 0.15, 0], [0.6, 0.3, 0, 0.1]]
    np.testing.assert_allclose(law, expected, rtol=0, atol=1e-16)


def test_only_its_own_strategy_solves_a_hard_type():
    rates = success_rates(np.array([0.2, 0.7]), 0.9)
    np.testing.assert_array_equal(rates, [[0.9, 0.9], [0.2, 0], [0, 0.7]])


def test_random_tasks_are_a_batch_and_follow_their_generator():
    first, again, other = (random_tasks(50, 4, 0.9, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.base_law, again.base_law)
    assert not np.array_equal(first.base, other.base)
    assert first.base_law.shape == (50, 5, 8)
    np.testing.assert_allclose(first.base_law.sum(axis=-1), 1, rtol=1e-12)
    assert (first.hard_rate > 0.1).all()
    assert (first.hard_rate < 0.9).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"weights": [0.5, 0.5]}, r"weights.shape=\(2,\)"),
        ({"weights": [0.5, 0.3, 0.3]}, "weights sums to"),
        ({"base": [1.0, 0.0]}, "every strategy needs some mass"),
        ({"easy_rate": 1.0}, "easy_rate=1"),
        ({"hard_rate": 0.0}, "hard_rate=0"),
    ],
)
def test_what_is_no_task_is_refused(changed, message):
    given = {"weights": WEIGHTS, "base": BASE, "easy_rate": 0.9, "hard_rate": 0.4} | changed
    arrays = {name: np.array(value) if isinstance(value, list) else value for name, value in given.items()}
    with pytest.raises(ValueError, match=message):
        task(arrays.pop("weights"), arrays.pop("base"), **arrays)
