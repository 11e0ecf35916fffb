import numpy as np
import pytest
from scipy.special import expit, logit
from support.sampled_counts import covers, sampled

from dph_theory.counts.estimate import mean_of
from dph_theory.counts.power import CHANCE, needed


def test_as_many_prompts_as_told_find_the_difference_as_often_as_told():
    rng = np.random.default_rng(0)

    def drawn(prompts, n):
        before = rng.beta(1, 2, prompts)
        return sampled(rng, before, expit(logit(before) + 0.25), n).pairs

    pilot = drawn(20_000, 16)
    truth = float((pilot.run_c - pilot.base_c).mean() / 16)
    told = {line.n: line for line in needed(pilot, truth, 1)}
    assert sorted(told) == [4, 8, 16, 32, 64]
    for n in (4, 64):
        pairs = drawn(told[n].prompts * 400, n)
        gaps = ((pairs.run_c - pairs.base_c) / n).reshape(400, -1)
        found = [mean_of(gap).low > 0 for gap in gaps]
        assert covers(np.mean(found), CHANCE, 400, slack=0.03), n
    assert told[64].detectable < told[4].detectable


def test_a_greater_k_needs_as_many_answers():
    rng = np.random.default_rng(1)
    pairs = sampled(rng, rng.beta(1, 2, 50), rng.beta(1, 2, 50), 8).pairs
    assert needed(pairs, 0.1, 6)[0].n == 6
    assert needed(pairs, 0.1, 1)[0].prompts == pytest.approx(needed(pairs, 0.05, 1)[0].prompts / 4, abs=3)
