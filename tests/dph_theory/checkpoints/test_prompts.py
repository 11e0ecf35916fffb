import numpy as np
import pytest
from scipy import stats
from support.sampled_counts import base_rates, sampled, shifted

from dph_theory.checkpoints import PairedCounts
from dph_theory.checkpoints.prompts import changed, log_odds_shift, solved_prompts
from dph_theory.checkpoints.rates import likelihood, rate_grid

MEN = np.array([[512, 313], [353, 207], [120, 205], [138, 279], [53, 138], [22, 351]])
WOMEN = np.array([[89, 19], [17, 8], [202, 391], [131, 244], [94, 299], [24, 317]])
"""Admitted and rejected in Berkeley, by department: R's UCBAdmissions."""


def test_tests_of_an_unchanged_run_have_their_size_at_unequal_numbers_of_answers():
    rng, trials, found = np.random.default_rng(0), 100, []
    for _ in range(trials):
        before = base_rates(rng, 80)
        pairs = sampled(rng, before, before, 12, 9)
        named = any(len(places) for places in changed(pairs))
        found.append([solved_prompts(pairs, rng).p_value, log_odds_shift(pairs).p_no_change, 1 - named])
    # Discrete tests may keep below their level, not exceed it.
    for level in (0.05, 0.2):
        rejected = np.mean(np.array(found) <= level, axis=0)
        assert (rejected[:2] <= level + 3.3 * np.sqrt(level * (1 - level) / trials)).all(), level
    assert rejected[2] <= 0.05 + 3.3 * np.sqrt(0.05 * 0.95 / trials)


def test_what_an_unchanged_run_retains_and_what_lost_prompts_regain_is_predicted():
    rng = np.random.default_rng(1)
    before = base_rates(rng, 20_000)
    found = solved_prompts(sampled(rng, before, before, 8), rng)
    assert found.retained_unchanged == pytest.approx(found.retained.value, abs=0.01)
    assert found.new_unchanged == pytest.approx(found.new.value, abs=0.01)
    after = np.where(rng.random(20_000) < 0.2, 0, before)
    pairs = sampled(rng, before, after, 8)
    found, further = solved_prompts(pairs, rng), rng.binomial(8, after) > 0
    lost = (pairs.base_c > 0) & (pairs.run_c == 0)
    assert found.lost == lost.sum()
    assert found.lost_again == pytest.approx(further[lost].mean(), abs=0.04)


def test_the_test_of_no_change_sees_a_common_shift_and_what_it_hides():
    rng = np.random.default_rng(0)
    assert log_odds_shift(shifted(rng, 60, 8, 1.0)).changed
    # As many prompts rise as fall, by as much.
    both = np.repeat([0.2, 0.8], 40)
    assert log_odds_shift(sampled(rng, both, both[::-1], 8)).changed


def test_a_reverse_kl_optimum_is_recognised_with_its_beta_and_a_lost_prompt_refutes_it():
    """At the optimum the log odds of every prompt rise by 1/beta."""
    rng, trials, beta = np.random.default_rng(5), 60, 1.25
    shifts = [log_odds_shift(shifted(rng, 80, 16, 1 / beta)) for _ in range(trials)]
    assert np.mean([x.p_one_shift <= 0.05 for x in shifts]) <= 0.05 + 3.3 * np.sqrt(0.05 * 0.95 / trials)
    covered = [x.beta is not None and x.beta.low <= beta <= x.beta.high for x in shifts]
    assert np.mean(covered) >= 0.9 - 3.3 * np.sqrt(0.9 * 0.1 / trials)
    uneven = log_odds_shift(shifted(rng, 80, 16, 1 / beta, spread=1.0))
    assert uneven.beta is None
    assert uneven.p_one_shift < 1e-3


def test_the_grid_of_rates_resolves_every_count_and_has_both_ends():
    rates, weights = rate_grid(100)
    assert (rates[0], rates[-1]) == (0, 1)
    # Under Jeffreys's law the counts of 100 answers have the beta-binomial law of that prior.
    c = np.arange(101)
    marginal = likelihood(np.full(101, 100), c, rates) @ weights
    assert marginal == pytest.approx(stats.betabinom(100, 0.5, 0.5).pmf(c), rel=1e-2)


def test_without_a_mean_change_its_p_value_is_that_of_the_squares_given_the_totals():
    """Of eight prompts half are solved more rarely, half more often: the law of the squares, drawn."""
    pairs, rng = PairedCounts.from_counts(20, [15, 5] * 4, 20, [10, 10] * 4), np.random.default_rng(0)
    squares = ((rng.hypergeometric(25, 15, 20, (200_000, 4)) - 12.5) ** 2).sum(axis=1)
    squares += ((rng.hypergeometric(15, 25, 20, (200_000, 4)) - 7.5) ** 2).sum(axis=1)
    expected = np.mean(squares >= 8 * 2.5**2)
    assert log_odds_shift(pairs).p_no_change == pytest.approx(2 * expected, rel=0.25)


def test_prompts_that_fell_and_rose_are_named_by_fishers_tests_the_clearest_first():
    pairs = PairedCounts.from_counts(50, [25, 25, 25, 25], 50, [24, 0, 50, 5])
    fell, rose = changed(pairs)
    assert fell.tolist() == [1, 3]
    assert rose.tolist() == [2]
    # Barely above what Benjamini and Hochberg allow of four, and of these alone.
    p = stats.fisher_exact([[12, 8], [4, 16]]).pvalue
    assert 0.0125 < p < 0.05
    beside = PairedCounts.from_counts(20, [12, 9, 9, 9], 20, [4, 9, 9, 9])
    assert [len(places) for places in changed(beside)] == [0, 0]
    assert [len(places) for places in changed(beside.chosen(np.array([0])))] == [1, 0]


def test_the_pooled_odds_ratio_is_rs_for_the_admissions_of_berkeley():
    found = log_odds_shift(PairedCounts.from_counts(WOMEN.sum(1), WOMEN[:, 0], MEN.sum(1), MEN[:, 0]))
    assert np.exp(found.pooled.value) == pytest.approx(0.9046968, abs=5e-8)
    # Department A is known to differ from the others, of which the mean shows nothing.
    assert found.pooled.low < 0 < found.pooled.high
    assert found.changed


def test_where_nothing_is_known_nothing_is_claimed():
    found = log_odds_shift(PairedCounts.from_counts(4, [0, 4], 4, [0, 4]))
    assert (found.informative, found.p_no_change, found.pooled.high) == (0, 1, np.inf)
    assert log_odds_shift(PairedCounts.from_counts(4, [0, 0], 4, [2, 1])).pooled.value == np.inf
    # Of one answer a prompt only means are identified.
    rng = np.random.default_rng(0)
    pairs = sampled(rng, before := base_rates(rng, 300), before, 1)
    found = solved_prompts(pairs, rng)
    assert found.retained_unchanged is found.new_unchanged is found.lost_again is None
    assert log_odds_shift(pairs).pooled.low < 0 < log_odds_shift(pairs).pooled.high
