import numpy as np
import pytest
from support.sampled_counts import base_rates, sampled, shifted

from dph_theory.counts.fits import OWN_SHIFTS, fits, off_law
from dph_theory.counts.joint import Joint, fitted
from dph_theory.counts.laws import laws


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
