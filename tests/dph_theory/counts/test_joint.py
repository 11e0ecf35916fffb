import numpy as np
import pytest
from support.sampled_counts import base_rates, covers, sampled

from dph_theory.counts.joint import Joint, fitted, predicted
from dph_theory.counts.laws import NO_CHANGE, laws

REVERSE, FORWARD, *_ = laws(8)


def under(rng, law, beta, prompts=200, n=16):
    before = base_rates(rng, prompts)
    return Joint.of(sampled(rng, before, law.rates(before, beta), n).pairs)


@pytest.mark.parametrize(("law", "beta"), [(REVERSE, 0.6), (FORWARD, 0.3)])
def test_beta_is_found_again(law, beta):
    fit = fitted(law, under(np.random.default_rng(0), law, beta, prompts=600, n=60))
    assert fit.beta.value == pytest.approx(beta, rel=0.05)
    assert fit.beta.low < beta < fit.beta.high
    assert fit.dispersion.low < 1 < fit.dispersion.high


@pytest.mark.slow
def test_intervals_of_beta_and_dispersion_cover():
    rng, trials = np.random.default_rng(1), 120
    fits = [fitted(REVERSE, under(rng, REVERSE, 0.6)) for _ in range(trials)]
    assert covers(np.mean([f.beta.low <= 0.6 <= f.beta.high for f in fits]), 0.95, trials, slack=0.02)
    assert covers(
        np.mean([f.dispersion.low <= 1 <= f.dispersion.high for f in fits]), 0.95, trials, slack=0.03
    )


def test_no_beta_fits_a_run_that_got_worse():
    rng = np.random.default_rng(2)
    before = base_rates(rng, 150)
    data = Joint.of(sampled(rng, before, before / 2, 30).pairs)
    assert fitted(REVERSE, data).beta is None
    assert fitted(NO_CHANGE, data).beta is None


def test_the_prediction_of_an_unchanged_run_has_the_base_mean():
    data = under(np.random.default_rng(3), NO_CHANGE, 1.0, prompts=3000)
    mean, variance = predicted(data, data.spread, data.spread.rates)
    assert (mean * data.counts).sum() == pytest.approx((data.pairs.base_c * data.counts).sum(), rel=2e-2)
    assert (variance > 0).all()
