import numpy as np
import pytest
from scipy.special import expit, logit
from support.sampled_counts import sampled

from dph_theory.counts import Pairs
from dph_theory.counts.luck import luck
from dph_theory.dynamics import drift_deviation

STEP, ANSWERS, PROMPTS = 0.05, 32, 400


def drifted(rng, extra=0.0):
    """Log odds moved by one shift and by the drift that such a rise brings; a share `extra` lost besides."""
    before = rng.beta(0.5, 1, PROMPTS).clip(1e-9, 1 - 1e-9)
    after = expit(logit(before) + 1.2)
    deviation = drift_deviation(before.mean(), after.mean(), valid=2, invalid=8, step=STEP, answers=ANSWERS)
    after = expit(logit(before) + 1.2 + float(deviation) * rng.standard_normal(PROMPTS))
    return sampled(rng, before, np.where(rng.random(PROMPTS) < extra, 0.0, after), 8).pairs


def test_prompts_that_are_lost_besides_are_no_luck_and_less_noise_loses_fewer():
    rng = np.random.default_rng(1)
    alone, pairs = luck(drifted(rng), STEP, ANSWERS, rng, draws=40), drifted(rng, extra=0.2)
    assert alone.p_value > 0.05
    assert alone.seen == pytest.approx(alone.lost, abs=3.3 * np.sqrt(alone.lost))
    found = luck(pairs, STEP, ANSWERS, rng, draws=120)
    assert found.p_value < 0.01
    assert luck(pairs, STEP / 10, ANSWERS, rng, draws=2).lost < found.lost
    assert luck(pairs, 10 * STEP, ANSWERS, rng, draws=2).too_large > found.too_large > 0


def test_a_run_that_has_not_risen_has_no_such_drift():
    with pytest.raises(ValueError, match="the drift is that of a rise"):
        luck(Pairs.of(8, [4, 5], 8, [3, 5]), STEP, ANSWERS, np.random.default_rng(0))
