import numpy as np
import pytest
from scipy import stats
from support.sampled_counts import base_rates, covers, sampled, shifted

from dph_theory.counts import Pairs
from dph_theory.counts.prompts import (
    changed,
    log_odds_shift,
    mantel_haenszel,
    margins_of,
    one_shift,
    solved_prompts,
)


def test_the_test_of_an_unchanged_run_has_its_size_at_unequal_numbers_of_answers():
    rng, p_values, named = np.random.default_rng(0), [], 0
    for _ in range(100):
        before = base_rates(rng, 80)
        pairs = sampled(rng, before, before, 12, 9).pairs
        p_values.append(solved_prompts(pairs, rng).p_value)
        named += any(len(places) for places in changed(pairs))
    # A discrete test may keep below its level, not exceed it.
    for level in (0.05, 0.2):
        assert np.mean(np.array(p_values) <= level) <= level + 3.3 * np.sqrt(level * (1 - level) / 100)
    assert named / 100 <= 0.05 + 3.3 * np.sqrt(0.05 * 0.95 / 100)


def test_an_unchanged_run_keeps_what_it_is_foretold_to_keep():
    rng = np.random.default_rng(1)
    before = base_rates(rng, 20_000)
    found = solved_prompts(sampled(rng, before, before, 8).pairs, rng)
    assert found.kept_unchanged == pytest.approx(found.kept.value, abs=0.01)
    assert found.new_unchanged == pytest.approx(found.new.value, abs=0.01)


def test_lost_prompts_are_foretold_in_further_answers():
    rng = np.random.default_rng(3)
    before = base_rates(rng, 20_000)
    after = np.where(rng.random(20_000) < 0.2, 0, before)
    pairs = sampled(rng, before, after, 8).pairs
    found, further = solved_prompts(pairs, rng), rng.binomial(8, after) > 0
    lost = (pairs.base_c > 0) & (pairs.run_c == 0)
    assert found.lost == lost.sum()
    assert found.lost_again == pytest.approx(further[lost].mean(), abs=0.04)


def test_shares_cover_the_truth_of_their_prompts():
    rng, inside, trials = np.random.default_rng(2), 0, 100
    many = shifted(rng, 100_000, 8, -1.0).pairs
    before, after = many.base_c > 0, many.run_c > 0
    truth = (before & after).sum() / before.sum()
    for _ in range(trials):
        which = rng.choice(len(many), 60)
        inside += (e := solved_prompts(many.chosen(which), rng).kept).low <= truth <= e.high
    assert inside / trials >= 0.95 - 3.3 * np.sqrt(0.95 * 0.05 / trials)


def test_the_test_of_no_change_has_its_size_and_sees_what_a_common_shift_hides():
    rng, trials, p = np.random.default_rng(0), 200, []
    for _ in range(trials):
        before = base_rates(rng, 60)
        p.append(log_odds_shift(sampled(rng, before, before, 8).pairs).p_no_change)
    assert np.mean(np.array(p) < 0.05) <= 0.05 + 3.3 * np.sqrt(0.05 * 0.95 / trials)
    assert log_odds_shift(shifted(rng, 60, 8, 1.0).pairs).changed
    # As many prompts rise as fall, by as much.
    both = np.repeat([0.2, 0.8], 40)
    assert log_odds_shift(sampled(rng, both, both[::-1], 8).pairs).changed


def test_of_one_answer_a_prompt_only_means_are_identified():
    rng = np.random.default_rng(0)
    before = base_rates(rng, 300)
    pairs = sampled(rng, before, before, 1).pairs
    found, moved = solved_prompts(pairs, rng), log_odds_shift(pairs)
    assert found.kept_unchanged is found.new_unchanged is found.lost_again is None
    assert moved.pooled.low < 0 < moved.pooled.high


def test_prompts_that_fell_and_rose_are_named_the_clearest_first():
    pairs = Pairs.of(50, [25, 25, 25, 25], 50, [24, 0, 50, 5])
    fell, rose = changed(pairs)
    assert fell.tolist() == [1, 3]
    assert rose.tolist() == [2]


def test_chances_are_fishers_noncentral_hypergeometric():
    pairs = Pairs.of([9, 9, 5], [4, 3, 5], [6, 6, 4], [1, 2, 4])
    found = list(margins_of(pairs))
    # Two prompts share a margin.
    assert sorted(len(members) for *_, members in found) == [1, 2]
    for x, log_chance, members in found:
        i = members[0]
        total = pairs.base_c[i] + pairs.run_c[i]
        law = stats.nchypergeom_fisher(pairs.base_n[i] + pairs.run_n[i], total, pairs.run_n[i], np.exp(0.7))
        chance = np.exp(log_chance + 0.7 * x)
        assert chance / chance.sum() == pytest.approx(law.pmf(x))


BERKELEY = np.array(
    [
        [512, 313, 89, 19],
        [353, 207, 17, 8],
        [120, 205, 202, 391],
        [138, 279, 131, 244],
        [53, 138, 94, 299],
        [22, 351, 24, 317],
    ]
)
"""Admitted and rejected men, then women, by department: R's UCBAdmissions."""


def informative(pairs):
    total = pairs.base_c + pairs.run_c
    return pairs.chosen((total > 0) & (total < pairs.base_n + pairs.run_n))


def test_the_pooled_odds_ratio_is_rs_for_the_admissions_of_berkeley():
    men, women = BERKELEY[:, :2], BERKELEY[:, 2:]
    pairs = Pairs.of(women.sum(axis=1), women[:, 0], men.sum(axis=1), men[:, 0])
    found = log_odds_shift(pairs)
    assert np.exp(found.pooled.value) == pytest.approx(0.9046968, abs=5e-8)
    # Department A is known to differ from the others.
    assert found.p_one_shift < 0.05


@pytest.mark.parametrize("answers", [2, 40])
def test_the_pooled_gain_covers_one_shift_for_few_and_many_answers(answers):
    rng, trials = np.random.default_rng(answers), 400
    inside = [mantel_haenszel(shifted(rng, 120, answers, 0.8).pairs) for _ in range(trials)]
    assert covers(np.mean([e.low <= 0.8 <= e.high for e in inside]), 0.95, trials, slack=0.01)


def test_the_test_of_one_shift_has_its_size_and_sees_shifts_that_vary():
    rng, trials = np.random.default_rng(0), 100
    p = np.array([one_shift(informative(shifted(rng, 80, 6, 1.0, run_n=5).pairs)) for _ in range(trials)])
    assert covers(np.mean(p < 0.1), 0.1, trials, slack=0.01)
    assert stats.kstest(p, "uniform").pvalue > 1e-3
    assert one_shift(informative(shifted(rng, 100, 30, 1.0, spread=1.0).pairs)) < 1e-4


def test_where_nothing_is_known_nothing_is_claimed():
    found = log_odds_shift(Pairs.of(4, [0, 4], 4, [0, 4]))
    assert (found.informative, found.p_one_shift) == (0, 1)
    assert found.pooled.high == np.inf
    assert mantel_haenszel(Pairs.of(4, [0, 0], 4, [2, 1])).value == np.inf
