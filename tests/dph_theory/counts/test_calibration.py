import numpy as np
import pytest
from support.sampled_counts import sampled

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
