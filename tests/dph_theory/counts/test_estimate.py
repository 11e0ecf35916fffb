import numpy as np
import pytest
from scipy import stats
from support.sampled_counts import covers

from dph_theory.counts.estimate import from_influence, mean_of, share


def test_the_mean_covers_its_truth_as_often_as_it_says():
    rng = np.random.default_rng(0)
    found = [mean_of(rng.standard_normal(8)) for _ in range(2000)]
    assert covers(np.mean([e.low <= 0 <= e.high for e in found]), 0.95, 2000)
    assert mean_of(np.ones(1)).high == np.inf


def test_a_share_is_covered_at_least_as_often_as_it_says_exactly():
    intervals = [share(c, 12) for c in range(13)]
    for p in np.linspace(0.01, 0.99, 50):
        chance = stats.binom.pmf(np.arange(13), 12, p)
        assert sum(c for c, e in zip(chance, intervals, strict=True) if e.low <= p <= e.high) >= 0.95


def test_influences_of_a_mean_give_the_interval_of_the_mean():
    values = np.array([1.0, 2.0, 4.0])
    assert from_influence(7 / 3, values - 7 / 3).high == pytest.approx(mean_of(values).high)
