import numpy as np
import pytest
from scipy import stats
from support.sampled_counts import base_rates

from dph_theory.counts.mixing import likelihood, mixing, rate_grid


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
    foretold = mixing(n, c).solved_in(n, c, n)
    truth = 1 - (1 - rates) ** 12
    for seen in (0, 1, 2, 6):
        assert foretold[c == seen].mean() == pytest.approx(truth[c == seen].mean(), abs=0.025), seen
