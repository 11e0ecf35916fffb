import numpy as np
import pytest
from scipy import stats
from support.sampled_counts import base_rates, covers, sampled, shifted

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence
from dph_theory.counts.law_fits import (
    BASE_RATES,
    NO_CHANGE,
    OWN_SHIFTS,
    DistinctPrompts,
    _Halves,
    fitted,
    laws,
    off_law,
    predicted,
    ranked_laws,
)
from dph_theory.counts.rates import PossibleRates, likelihood, rate_grid, rate_spread
from dph_theory.intervals import mean_of
from dph_theory.laws import normalised_validity_at, validity_at


def test_the_grid_resolves_every_count_and_holds_both_ends():
    rates, weights = rate_grid(100)
    assert (rates[0], rates[-1]) == (0, 1)
    # Under Jeffreys's law the counts of 100 answers have the beta-binomial law of that prior.
    c = np.arange(101)
    marginal = likelihood(np.full(101, 100), c, rates) @ weights
    assert marginal == pytest.approx(stats.betabinom(100, 0.5, 0.5).pmf(c), rel=1e-2)


def test_further_answers_are_foretold():
    rng = np.random.default_rng(0)
    rates = base_rates(rng, 20_000)
    n, c = np.full(20_000, 12), rng.binomial(12, rates)
    foretold = rate_spread(n, c).solved_in(n, c, n)
    truth = 1 - (1 - rates) ** 12
    for seen in (0, 1, 2, 6):
        assert foretold[c == seen].mean() == pytest.approx(truth[c == seen].mean(), abs=0.025), seen


@pytest.mark.parametrize("n", [5, 300])
def test_the_band_keeps_all_of_the_probability(n):
    rng, law = np.random.default_rng(0), laws(8)[0]
    rates, weights = rate_grid(n)
    after, more = law.rates(rates, 0.5), np.full(30, 4)
    before = base_rates(rng, 30)
    # Some prompts obey the law, others are lost.
    seen = np.where(np.arange(30) % 3 == 0, 0.0, law.rates(before, 0.5))
    pairs = sampled(rng, before, seen, n).pairs
    near = PossibleRates.of(pairs, rates, law.rates(rates, 0.6))

    def chance(n, c, at):
        return stats.binom.pmf(c[:, None], n[:, None], at)

    wanted = chance(pairs.base_n, pairs.base_c, rates) * chance(pairs.run_n, pairs.run_c, after)
    assert near.given(after) @ weights == pytest.approx(wanted @ weights, rel=1e-9)
    further = (wanted * chance(more, more // 2, after)) @ weights
    assert near.with_more(more, more // 2).given(after) @ weights == pytest.approx(further, rel=1e-9)
    assert len(near.rows) < 0.4 * wanted.size or n == 5


REVERSE, FORWARD, *_ = laws(8)


def under(rng, law, beta, prompts=200, n=16):
    before = base_rates(rng, prompts)
    return DistinctPrompts.of(sampled(rng, before, law.rates(before, beta), n).pairs)


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
    data = DistinctPrompts.of(sampled(rng, before, before / 2, 30).pairs)
    assert fitted(REVERSE, data).beta is None
    assert fitted(NO_CHANGE, data).beta is None


def test_the_prediction_of_an_unchanged_run_has_the_base_mean():
    data = under(np.random.default_rng(3), NO_CHANGE, 1.0, prompts=3000)
    mean, variance = predicted(data, data.spread, data.spread.rates)
    assert (mean * data.counts).sum() == pytest.approx((data.pairs.base_c * data.counts).sum(), rel=2e-2)
    assert (variance > 0).all()


DIVERGENCES = dict(
    zip(BASE_RATES, (REVERSE_KL, FORWARD_KL, JENSEN_SHANNON, alpha_divergence(0.5)), strict=True)
)
BEFORE = np.array([1e-4, 0.05, 0.3, 0.9])


@pytest.mark.parametrize("name", DIVERGENCES)
@pytest.mark.parametrize("beta", [0.3, 2.0])
def test_laws_are_those_that_roots_give(name, beta):
    known = {law.name: law for law in laws(8)}
    plain = known[f"{name}, advantages not divided"].rates(BEFORE, beta)
    assert plain == pytest.approx(validity_at(BEFORE, beta, DIVERGENCES[name]), abs=1e-3)
    divided = known[f"{name}, advantages divided (groups of 8)"].rates(BEFORE[1:3], beta)
    wanted = normalised_validity_at(BEFORE[1:3], beta, 8, "std", DIVERGENCES[name])
    assert divided == pytest.approx(wanted, abs=1e-3)


def test_base_rates_of_zero_and_one_stay():
    for law in (*laws(4), NO_CHANGE):
        assert law.rates(np.array([0.0, 1.0]), 0.5).tolist() == [0, 1]


def test_of_several_stable_rates_the_one_reached_from_the_base_is_taken():
    reached = laws(32)[4].rates(np.array([0.01]), 0.42)
    assert reached == pytest.approx(0.504222, abs=1e-5)


def test_the_law_that_made_the_counts_predicts_them_best_and_the_lost_are_off_it():
    rng = np.random.default_rng(0)
    law, before = laws(8)[1], base_rates(rng, 250)
    after = law.rates(before, 0.3)
    lost = np.flatnonzero((before > 0.3) & (before < 0.9))[:6]
    after[lost] = 0.0
    found = ranked_laws(sampled(rng, before, after, 60).pairs, 8, rng)
    assert found.best == law.name
    assert {line.law for line in found.laws if line.held_out.high < 0} >= {"no change"}
    assert set(lost) <= set(found.off)
    assert len(found.off) <= len(lost) + 3


def test_shifts_that_vary_are_told_from_every_law():
    rng = np.random.default_rng(1)
    found = ranked_laws(shifted(rng, 200, 40, 1.0, spread=1.5).pairs, 8, rng)
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
        named += len(off_law(fitted(law, DistinctPrompts.of(pairs)), pairs)[1]) > 0
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
