import numpy as np
import pytest
from scipy import stats
from scipy.special import logit
from support.sampled_counts import base_rates, covers, sampled, shifted

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence
from dph_theory.counts.law_fits import (
    BASE_RATES,
    NO_CHANGE,
    OWN_SHIFTS,
    JointCounts,
    beta_of,
    dispersion,
    fitted,
    laws,
    own_shifts,
    ranked_laws,
)
from dph_theory.counts.rates import likelihood, rate_grid, rate_spread
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


REVERSE, FORWARD, *_ = laws(8)


def under(rng, law, beta, prompts=200, n=16):
    before = base_rates(rng, prompts)
    return JointCounts.of(sampled(rng, before, law.rates(before, beta), n).pairs)


@pytest.mark.parametrize(("law", "beta"), [(REVERSE, 0.6), (FORWARD, 0.3)])
def test_beta_is_found_again(law, beta):
    data = under(np.random.default_rng(0), law, beta, prompts=600, n=60)
    fit = fitted(law, data)
    found, varies = beta_of(fit, law, data), dispersion(fit, data)
    assert found.value == pytest.approx(beta, rel=0.05)
    assert found.low < beta < found.high
    assert varies.low < 1 < varies.high


@pytest.mark.slow
def test_intervals_of_beta_and_dispersion_cover():
    rng, trials = np.random.default_rng(1), 120
    betas, varies = [], []
    for _ in range(trials):
        data = under(rng, REVERSE, 0.6)
        fit = fitted(REVERSE, data)
        betas.append(beta_of(fit, REVERSE, data))
        varies.append(dispersion(fit, data))
    assert covers(np.mean([b.low <= 0.6 <= b.high for b in betas]), 0.95, trials, slack=0.02)
    assert covers(np.mean([v.low <= 1 <= v.high for v in varies]), 0.95, trials, slack=0.03)


def test_no_beta_fits_a_run_that_got_worse():
    rng = np.random.default_rng(2)
    before = base_rates(rng, 150)
    data = JointCounts.of(sampled(rng, before, before / 2, 30).pairs)
    for law in (REVERSE, NO_CHANGE):
        assert beta_of(fitted(law, data), law, data) is None


def test_the_chances_of_all_pairs_of_counts_are_those_of_the_rates():
    rng = np.random.default_rng(3)
    before = base_rates(rng, 50)
    data = JointCounts.of(sampled(rng, before, before, 5, 3).pairs)
    rates, weights = data.spread.rates, data.spread.weights
    found = data.chance(data.seen(rates), weights)
    base_c = np.unique(data.place[0], return_index=True)[1]
    for i, j in ((0, 0), (len(base_c) - 1, data.run.shape[1] - 1)):
        n, c = data.run[:, j]
        wanted = (data.base[i] * stats.binom.pmf(c, n, rates)) @ weights
        assert found[i, j] == pytest.approx(wanted, rel=1e-9)
    assert data.often.sum() == 50
    # More steps make the counts likelier.
    assert data.misfit(data.seen(rates), data.weighed(data.seen(rates), weights, 20)) < data.misfit(
        data.seen(rates), weights
    )


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


def test_the_law_that_made_the_counts_predicts_them_best_though_some_are_lost():
    rng = np.random.default_rng(0)
    law, before = laws(8)[1], base_rates(rng, 250)
    after = law.rates(before, 0.3)
    lost = np.flatnonzero((before > 0.3) & (before < 0.9))[:6]
    after[lost] = 0.0
    found = ranked_laws(sampled(rng, before, after, 60).pairs, 8, rng)
    assert next(line.law for line in found if line.law != OWN_SHIFTS) == law.name
    assert {line.law for line in found if line.held_out.high < 0} >= {"no change"}


def test_shifts_that_vary_are_told_from_every_law():
    rng = np.random.default_rng(1)
    pairs = shifted(rng, 200, 40, 1.0, spread=1.5).pairs
    found = ranked_laws(pairs, 8, rng)
    assert found[0].law == OWN_SHIFTS
    assert all(line.held_out.high < 0 for line in found[1:])
    after, _ = own_shifts(JointCounts.of(pairs))
    moved = logit(after[:, 60]) - logit(JointCounts.of(pairs).spread.rates[60])
    assert (moved.mean(), moved.std()) == (pytest.approx(1.0, abs=0.3), pytest.approx(1.5, abs=0.3))


@pytest.mark.slow
def test_how_much_worse_a_law_predicts_is_covered():
    """What "no change" says of the answers held out, less what the true law says, as `held_out` has it."""
    rng, trials, law = np.random.default_rng(4), 60, laws(8)[0]
    gaps = []
    for _ in range(trials):
        before = base_rates(rng, 120)
        found = {
            x.law: x for x in ranked_laws(sampled(rng, before, law.rates(before, 1.0), 16).pairs, 8, rng)
        }
        gaps.append(found["no change"].held_out)
    truth = np.mean([gap.value for gap in gaps])
    assert truth < 0
    assert covers(np.mean([gap.low <= truth <= gap.high for gap in gaps]), 0.95, trials, slack=0.05)
