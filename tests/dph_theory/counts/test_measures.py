import itertools

import numpy as np
import pytest
from scipy import stats
from support.sampled_counts import base_rates, sampled, write_rows

from dph_theory import exact_pass_at_k
from dph_theory.counts import confront, matched, read_counts
from dph_theory.counts.measures import LEVELS, all_at_k, by_category, measures, posterior_pass_at_k


def test_pass_hat_k_is_the_share_of_draws_that_are_all_correct():
    answers = [1, 1, 1, 0, 0, 1]
    wanted = np.mean([all(draw) for draw in itertools.combinations(answers, 3)])
    assert all_at_k(6, 4, 3) == pytest.approx(wanted)
    assert all_at_k(6, 2, 3) == 0
    with pytest.raises(ValueError, match="c=7"):
        all_at_k(6, 7, 3)


@pytest.mark.parametrize("k", [1, 5, 40])
def test_the_posterior_of_pass_at_k_is_that_of_its_betas(k):
    n, c = np.array([4, 8, 8]), np.array([0, 3, 8])
    found = posterior_pass_at_k(n, c, k)
    draws = exact_pass_at_k(stats.beta.rvs(c + 1, n - c + 1, size=(100_000, 3), random_state=0), k).mean(
        axis=1
    )
    assert found.value == pytest.approx(draws.mean(), abs=2e-3)
    # The interval ends where no rate can be.
    assert found.value - found.low == pytest.approx(1.96 * draws.std(), rel=0.02)
    assert found.high <= 1


def test_the_posterior_covers_these_prompts_when_its_prior_holds():
    rng, trials, inside = np.random.default_rng(3), 300, 0
    for _ in range(trials):
        rates = rng.random(40)
        found = posterior_pass_at_k(8, rng.binomial(8, rates), 4)
        inside += found.low <= exact_pass_at_k(rates, 4).mean() <= found.high
    assert abs(inside / trials - 0.95) <= 3.3 * np.sqrt(0.95 * 0.05 / trials) + 0.01


def test_measures_cover_their_truth():
    rng, trials, k = np.random.default_rng(0), 60, 4

    def drawn(prompts):
        before = base_rates(rng, prompts)
        return sampled(rng, before, 0.8 * before, 10).pairs

    truth = measures(drawn(100_000), k, rng)
    found = [measures(drawn(40), k, rng) for _ in range(trials)]
    assert len(truth) == 2 + len(LEVELS)
    for place in range(len(truth) - 1):
        for name in ("base", "run", "change"):
            wanted = getattr(truth[place], name).value
            seen = [getattr(one[place], name) for one in found]
            inside = np.mean([e.low <= wanted <= e.high for e in seen])
            assert inside >= 0.95 - 3.3 * np.sqrt(0.95 * 0.05 / trials), (place, name)


def test_categories_are_told_apart_with_wider_intervals_than_alone(tmp_path):
    rng = np.random.default_rng(1)
    before = base_rates(rng, 60)
    kinds = ["algebra"] * 30 + ["logic"] * 30
    pairs = sampled(rng, before, np.where(np.arange(60) < 30, before, before / 4), 8).pairs
    algebra, logic = by_category(pairs, kinds, 4, rng)
    assert (algebra.category, algebra.prompts, logic.k) == ("algebra", 30, 4)
    assert logic.first.high < 0
    assert algebra.first.low < 0 < algebra.first.high
    alone = by_category(pairs.chosen(np.arange(30, 60)), kinds[30:], 4, rng)[0]
    assert logic.last.low < alone.last.low
    assert logic.last.value == pytest.approx(alone.last.value)
    rows = [{"id": i, "n": 8, "c": 4, "kind": kind} for i, kind in enumerate(kinds[20:40])]
    path = write_rows(tmp_path / "base.jsonl", rows)
    base = read_counts(path, by="kind")
    found = confront(base, base, matched(base, base), draws=20)
    assert [c.category for c in found.categories] == ["algebra", "logic"]
    assert confront(base, read_counts(path), matched(base, read_counts(path)), draws=20).categories
    with pytest.raises(ValueError, match="by='topic' is not allowed: a field that rows"):
        read_counts(path, by="topic")
