import numpy as np
import pytest
from scipy.special import expit, logit
from support.sampled_counts import covers, sampled

from dph_theory.counts import Pairs
from dph_theory.counts import luck as luck_module
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


def test_runs_that_drift_alone_lose_as_many_as_foretold():
    rng, trials = np.random.default_rng(0), 40
    found = [luck(drifted(rng), STEP, ANSWERS, rng, draws=29) for _ in range(trials)]
    seen, told = (np.array([getattr(one, name) for one in found]) for name in ("seen", "lost"))
    assert seen.mean() == pytest.approx(told.mean(), abs=3.3 * (seen - told).std() / np.sqrt(trials) + 0.3)
    for level in (0.1, 0.2):
        assert covers(np.mean([one.p_value <= level for one in found]), level, trials), level


def test_prompts_that_are_lost_besides_are_no_luck_and_less_noise_loses_fewer():
    rng = np.random.default_rng(1)
    pairs = drifted(rng, extra=0.1)
    found = luck(pairs, STEP, ANSWERS, rng, draws=120)
    assert found.p_value < 0.01
    assert luck(pairs, STEP / 10, ANSWERS, rng, draws=2).lost < found.lost
    assert luck(pairs, 10 * STEP, ANSWERS, rng, draws=2).too_large > found.too_large > 0


def test_a_run_that_has_not_risen_has_no_such_drift():
    with pytest.raises(ValueError, match="the drift is that of a rise"):
        luck(Pairs.of(8, [4, 5], 8, [3, 5]), STEP, ANSWERS, np.random.default_rng(0))


def test_losses_are_held_to_those_expected_as_a_ratio(monkeypatch):
    # Of more expected losses a like excess is likelier, so that differences would have too small p-values.
    rng = np.random.default_rng(0)
    pairs = drifted(rng)
    nothing = luck_module._null(pairs, 0.1)
    told = iter([10, *[20] * 9])
    expected = iter([5.0, *[14.0] * 9])
    monkeypatch.setattr(luck_module, "_lost", lambda _: next(told))
    monkeypatch.setattr(luck_module, "_null", lambda *_: (*nothing[:2], next(expected)))
    assert luck(pairs, STEP, ANSWERS, rng, draws=9).p_value == pytest.approx(0.1)
