import numpy as np
import pytest

from dph_theory.aggregates import (
    interquartile_mean,
    performance_profile,
    probability_of_improvement,
    stratified_interval,
)

X = np.array([[1, 2], [2, 2], [1, 1], [2, 1]])
Y = np.array([[1, 1], [2, 2], [3, 3]])
"""The tables of rliable's own tests."""


def test_the_published_example_numbers():
    assert interquartile_mean(X) == 1.5
    assert interquartile_mean(Y) == 2
    assert probability_of_improvement(X, Y) == pytest.approx(1 / 3)
    assert probability_of_improvement(X, X) == 0.5


def test_the_interquartile_mean_leaves_the_outer_quarters_out():
    assert interquartile_mean(np.array([[0.0, 1, 2, 100]])) == 1.5


def test_a_profile_falls_from_one_to_zero():
    assert performance_profile(Y, np.array([0.5, 1, 2.5, 3])).tolist() == [1, pytest.approx(2 / 3), 1 / 3, 0]
    with pytest.raises(ValueError, match=r"levels\.shape=\(1, 2\)"):
        performance_profile(Y, [[1, 2]])


def test_the_stratified_interval_covers_and_draws_within_tasks():
    rng, trials, inside = np.random.default_rng(0), 120, 0
    tasks = np.array([0.0, 1.0, 2.0, 10.0])
    for _ in range(trials):
        scores = tasks + rng.standard_normal((12, 4))
        found = stratified_interval(lambda table: float(table.mean()), scores, rng=rng, draws=200)
        inside += found.low <= tasks.mean() <= found.high
    # The percentile interval of twelve seeds is a little narrow: by the factor sqrt(11/12).
    assert inside / trials >= 0.87
    same = stratified_interval(interquartile_mean, np.tile(tasks, (5, 1)), rng=rng, draws=20)
    assert same.low == same.high == same.mean
    both = stratified_interval(probability_of_improvement, X, Y, rng=rng, draws=50)
    assert both.low <= 1 / 3 <= both.high


@pytest.mark.parametrize("scores", [np.zeros(3), np.zeros((0, 2))])
def test_tables_have_seeds_and_tasks(scores):
    with pytest.raises(ValueError, match="seeds, tasks"):
        interquartile_mean(scores)
    with pytest.raises(ValueError, match="as many tasks"):
        probability_of_improvement(X, np.zeros((2, 3)))
