import numpy as np
import pytest
from scipy import stats
from support.sampled_counts import base_rates, sampled, shifted

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence
from dph_theory.checkpoints.policy_fits import NO_CHANGE, OWN_SHIFTS, policy_scores, stationary_rates
from dph_theory.checkpoints.rates import likelihood, rate_grid
from dph_theory.stationary import normalised_pass_rate_at, pass_rate_at

DIVERGENCES = {"reverse KL": REVERSE_KL, "forward KL": FORWARD_KL, "Jensen-Shannon": JENSEN_SHANNON}
DIVERGENCES["alpha 0.5"] = alpha_divergence(0.5)
BEFORE = np.array([1e-4, 0.05, 0.3, 0.9])


def test_the_grid_resolves_every_count_and_holds_both_ends():
    rates, weights = rate_grid(100)
    assert (rates[0], rates[-1]) == (0, 1)
    # Under Jeffreys's law the counts of 100 answers have the beta-binomial law of that prior.
    c = np.arange(101)
    marginal = likelihood(np.full(101, 100), c, rates) @ weights
    assert marginal == pytest.approx(stats.betabinom(100, 0.5, 0.5).pmf(c), rel=1e-2)


@pytest.mark.parametrize("name", DIVERGENCES)
@pytest.mark.parametrize("beta", [0.3, 2.0])
def test_stationary_rates_are_those_that_roots_give(name, beta):
    plain = stationary_rates(8)[f"{name}, advantages not normalised"](BEFORE, beta)
    assert plain == pytest.approx(pass_rate_at(BEFORE, beta, DIVERGENCES[name]), abs=1e-3)
    divided = stationary_rates(8)[f"{name}, advantages std-normalised (groups of 8)"](BEFORE[1:3], beta)
    expected = normalised_pass_rate_at(BEFORE[1:3], beta, 8, "std", DIVERGENCES[name])
    assert divided == pytest.approx(expected, abs=1e-3)


def test_base_rates_of_zero_and_one_stay_and_of_several_stable_rates_the_first_is_reached():
    for policy in stationary_rates(4).values():
        assert policy(np.array([0.0, 1.0]), 0.5).tolist() == [0, 1]
    reached = stationary_rates(32)["reverse KL, advantages std-normalised (groups of 32)"](
        np.array([0.01]), 0.42
    )
    assert reached == pytest.approx(0.504222, abs=1e-5)


def test_the_policy_that_made_the_counts_predicts_them_best_though_some_are_lost():
    rng = np.random.default_rng(0)
    name, before = "forward KL, advantages not normalised", base_rates(rng, 250)
    after = stationary_rates(8)[name](before, 0.3)
    lost = np.flatnonzero((before > 0.3) & (before < 0.9))[:6]
    after[lost] = 0.0
    found = policy_scores(sampled(rng, before, after, 60), 8, rng)
    best = next(line for line in found if line.policy != OWN_SHIFTS)
    assert best.policy == name
    assert best.beta.value == pytest.approx(0.3, rel=0.1)
    assert best.beta.low < 0.3 < best.beta.high
    assert {line.policy for line in found if line.rejected} >= {NO_CHANGE}


def test_no_beta_fits_a_run_that_got_worse_and_shifts_that_vary_fit_better_than_every_policy():
    rng = np.random.default_rng(1)
    found = policy_scores(shifted(rng, 150, 30, -1.0, spread=1.5), 8, rng)
    beta = {line.policy: line.beta for line in found}
    assert beta["reverse KL, advantages not normalised"] is beta[NO_CHANGE] is None
    assert found[0].policy == OWN_SHIFTS
    assert all(line.rejected for line in found[1:])
