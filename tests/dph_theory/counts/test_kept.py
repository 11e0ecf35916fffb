import numpy as np
import pytest
from scipy import stats
from support.sampled_counts import base_rates, sampled, shifted

from dph_theory.counts import Pairs
from dph_theory.counts.kept import changed, fisher, kept, named_by


def test_fishers_test_is_that_of_scipy():
    pairs = Pairs.of([9, 5, 7], [4, 0, 7], [6, 8, 7], [1, 8, 7])
    fell, rose = fisher(pairs)
    for i in range(3):
        table = [
            [pairs.run_c[i], pairs.run_n[i] - pairs.run_c[i]],
            [pairs.base_c[i], pairs.base_n[i] - pairs.base_c[i]],
        ]
        assert fell[i] == pytest.approx(stats.fisher_exact(table, "less").pvalue)
        assert rose[i] == pytest.approx(stats.fisher_exact(table, "greater").pvalue)


def test_named_prompts_are_those_of_benjamini_and_hochberg():
    p = np.array([0.03, 0.2, 0.001, 0.011, 0.9])
    assert named_by(p).tolist() == np.argsort(p)[stats.false_discovery_control(np.sort(p)) <= 0.05].tolist()
    assert named_by(np.ones(3)).size == 0


def test_the_test_of_an_unchanged_run_has_its_size_at_unequal_numbers_of_answers():
    rng, p_values, named = np.random.default_rng(0), [], 0
    for _ in range(100):
        before = base_rates(rng, 80)
        pairs = sampled(rng, before, before, 12, 9).pairs
        p_values.append(kept(pairs, rng).p_value)
        named += any(len(places) for places in changed(pairs))
    # A discrete test may keep below its level, not exceed it.
    for level in (0.05, 0.2):
        assert np.mean(np.array(p_values) <= level) <= level + 3.3 * np.sqrt(level * (1 - level) / 100)
    assert named / 100 <= 0.05 + 3.3 * np.sqrt(0.05 * 0.95 / 100)


def test_an_unchanged_run_keeps_what_it_is_foretold_to_keep():
    rng = np.random.default_rng(1)
    before = base_rates(rng, 20_000)
    found = kept(sampled(rng, before, before, 8).pairs, rng)
    assert found.kept_unchanged == pytest.approx(found.kept.value, abs=0.01)
    assert found.new_unchanged == pytest.approx(found.new.value, abs=0.01)
    assert found.never_below == pytest.approx(1 - 0.05 ** (1 / 8))


def test_lost_prompts_are_foretold_in_further_answers():
    rng = np.random.default_rng(3)
    before = base_rates(rng, 20_000)
    after = np.where(rng.random(20_000) < 0.2, 0, before)
    pairs = sampled(rng, before, after, 8).pairs
    found, further = kept(pairs, rng), rng.binomial(8, after) > 0
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
        inside += (e := kept(many.chosen(which), rng).kept).low <= truth <= e.high
    assert inside / trials >= 0.95 - 3.3 * np.sqrt(0.95 * 0.05 / trials)


def test_prompts_that_fell_and_rose_are_named_the_clearest_first():
    pairs = Pairs.of(50, [25, 25, 25, 25], 50, [24, 0, 50, 5])
    fell, rose = changed(pairs)
    assert fell.tolist() == [1, 3]
    assert rose.tolist() == [2]
