import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dph_theory.intervals import mean_interval, probability_interval, share


def test_the_interval_is_student_s():
    values = np.array([[0.1, 5.0], [0.3, 5.0], [0.8, 5.0]])
    found = mean_interval(values)
    low, high = stats.t.interval(0.95, 2, loc=values[:, 0].mean(), scale=stats.sem(values[:, 0]))
    np.testing.assert_allclose([found.low[0], found.high[0]], [low, high], rtol=1e-12)
    assert found.value[1] == found.low[1] == found.high[1] == 5


def test_one_seed_says_nothing_of_the_spread():
    found = mean_interval([0.4])
    assert (found.value, found.low, found.high) == (0.4, -np.inf, np.inf)
    assert mean_interval([[0.4, 0.5]]).high.tolist() == [np.inf, np.inf]


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_intervals_of_probabilities_are_probabilities_around_the_mean(values):
    mean, low, high = probability_interval(values)
    assert 0 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1


def test_far_from_the_ends_with_little_spread_both_intervals_agree():
    values = 0.4 + 1e-4 * np.array([-1, 0.5, 2])
    np.testing.assert_allclose([*probability_interval(values)], [*mean_interval(values)], atol=1e-6)
    assert tuple(map(float, probability_interval([1, 1, 1]))) == (1, 1, 1)
    assert probability_interval([0.5]).high == np.inf


def test_the_interval_of_probabilities_covers_as_often_as_it_says():
    draws = np.random.default_rng(0).beta(18, 2, size=(5, 20_000))
    found = probability_interval(draws)
    assert np.mean((found.low <= 0.9) & (found.high >= 0.9)) == pytest.approx(0.95, abs=0.01)
    # The interval of Student would leave [0, 1] for some.
    assert (mean_interval(draws).high > 1).any()


def test_a_share_is_covered_at_least_as_often_as_it_says_exactly():
    intervals = [share(c, 12) for c in range(13)]
    for p in np.linspace(0.01, 0.99, 50):
        chance = stats.binom.pmf(np.arange(13), 12, p)
        assert sum(c for c, e in zip(chance, intervals, strict=True) if e.low <= p <= e.high) >= 0.95


def test_a_mean_that_rounds_to_one_has_an_interval_inside_the_unit_interval():
    found = probability_interval([1, 1, 1 - 1e-16])
    assert found.value == found.high == 1
    assert 1 - 1e-14 < found.low <= 1
