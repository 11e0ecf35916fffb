import numpy as np
import pytest
from support.sampled_counts import covers, sampled

from dph_theory.counts.calibration import calibration


def test_rates_that_are_predicted_are_seen():
    rng = np.random.default_rng(0)
    after = rng.uniform(size=2000)
    bins = calibration(sampled(rng, after, after, 20).pairs, after)
    assert [b.prompts for b in bins] == [200] * 10
    assert [b.predicted for b in bins] == sorted(b.predicted for b in bins)
    assert all(b.seen.value == pytest.approx(b.predicted, abs=0.04) for b in bins)
    few = sampled(rng, after[:3], after[:3], 4).pairs
    assert len(calibration(few, after[:3])) == 1


def test_the_rates_seen_in_a_bin_are_covered_and_stay_rates():
    rng, trials, inside = np.random.default_rng(1), 200, []
    for _ in range(trials):
        after = rng.beta(0.4, 0.6, 100)
        # One bin, as predictions of like prompts are; its truth is the mean of the law of rates.
        (first, *_) = calibration(sampled(rng, after, after, 10).pairs, np.full(100, 0.4))
        inside.append(first.seen.low <= 0.4 <= first.seen.high)
        assert 0 <= first.seen.low <= first.seen.high <= 1
    # Ten prompts that crowd at 0 and 1 are few for Student's interval.
    assert covers(np.mean(inside), 0.95, trials, slack=0.04)
