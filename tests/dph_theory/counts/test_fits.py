import numpy as np
import pytest
from support.sampled_counts import base_rates, covers, sampled, shifted

from dph_theory.counts.estimate import mean_of
from dph_theory.counts.fits import OWN_SHIFTS, _Halves, fits, off_law
from dph_theory.counts.joint import Joint, fitted
from dph_theory.counts.laws import NO_CHANGE, laws


def test_the_law_that_made_the_counts_predicts_them_best_and_the_lost_are_off_it():
    rng = np.random.default_rng(0)
    law, before = laws(8)[1], base_rates(rng, 250)
    after = law.rates(before, 0.3)
    lost = np.flatnonzero((before > 0.3) & (before < 0.9))[:6]
    after[lost] = 0.0
    found = fits(sampled(rng, before, after, 60).pairs, 8, rng)
    assert found.best == law.name
    assert {line.law for line in found.laws if line.held_out.high < 0} >= {"no change"}
    assert set(lost) <= set(found.off)
    assert len(found.off) <= len(lost) + 3


def test_shifts_that_vary_are_told_from_every_law():
    rng = np.random.default_rng(1)
    found = fits(shifted(rng, 200, 40, 1.0, spread=1.5).pairs, 8, rng)
    assert found.laws[0].law == OWN_SHIFTS
    assert all(line.held_out.high < 0 for line in found.laws[1:])
    assert found.best != OWN_SHIFTS


@pytest.mark.slow
def test_prompts_on_their_law_are_seldom_called_off_it():
    rng, trials, law = np.random.default_rng(2), 100, laws(8)[0]
    named = 0
    for _ in range(trials):
        before = base_rates(rng, 150)
        pairs = sampled(rng, before, law.rates(before, 0.7), 20).pairs
        named += len(off_law(fitted(law, Joint.of(pairs)), pairs)[1]) > 0
    # Without any prompt off the law every name is false, and some name is given in a twentieth of the cases.
    assert named / trials <= 0.05 + 3.3 * np.sqrt(0.05 * 0.95 / trials)


@pytest.mark.slow
def test_how_much_worse_a_law_predicts_is_covered():
    """The true law's log probability of the answers held out, less another's, as `held_out` has it."""
    rng, trials, law = np.random.default_rng(4), 200, laws(8)[0]
    gaps = []
    for _ in range(trials):
        before = base_rates(rng, 120)
        halves = _Halves.of(sampled(rng, before, law.rates(before, 2.0), 16).pairs, rng)
        gaps.append(mean_of(halves.score(NO_CHANGE) - halves.score(law)))
    # What it is on average is known from the trials themselves, to a tenth of one trial's deviation.
    truth = np.mean([gap.value for gap in gaps])
    assert truth < 0
    assert covers(np.mean([gap.low <= truth <= gap.high for gap in gaps]), 0.95, trials, slack=0.02)
