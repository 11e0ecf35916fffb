import numpy as np
import pytest
from scipy.special import expit, logit
from support.sampled_counts import covers, sampled

from dph_theory.counts import Pairs
from dph_theory.counts.curves import PassTable, curves
from dph_theory.counts.estimate import mean_of
from dph_theory.counts.power import CHANCE, needed


def drawn(rng, prompts, n):
    """Shifts of the log odds that vary over prompts, and rates that crowd at zero."""
    before = rng.beta(0.7, 2, prompts)
    return sampled(rng, before, expit(logit(before) + 0.25 + 0.5 * rng.standard_normal(prompts)), n).pairs


def gaps(pairs, k):
    base, run = (
        PassTable(n, c, np.array([k])) for n, c in ((pairs.base_n, pairs.base_c), (pairs.run_n, pairs.run_c))
    )
    return run.rows(run.place)[:, 0] - base.rows(base.place)[:, 0]


@pytest.mark.parametrize("k", [1, 4, 12])
def test_as_many_prompts_as_told_find_the_difference_as_often_as_told(k):
    rng = np.random.default_rng(k)
    pilot = drawn(rng, 20_000, rng.integers(12, 21, 20_000))
    truth = float(gaps(pilot, k).mean())
    told = {line.n: line for line in needed(pilot, truth, k)}
    assert sorted(told) == sorted({max(k, n) for n in (4, 8, 16, 32, 64)})
    for n in (min(told), 64):
        found = gaps(drawn(rng, told[n].prompts * 400, n), k).reshape(400, -1)
        assert covers(np.mean([mean_of(gap).low > 0 for gap in found]), CHANCE, 400, slack=0.03), n
    assert told[64].detectable < told[min(told)].detectable


def test_the_band_over_all_k_tells_it_as_often_as_told():
    rng, k, trials = np.random.default_rng(5), 4, 150
    pilot = drawn(rng, 20_000, 8)
    critical = curves(pilot.chosen(np.arange(500)), draws=500).critical
    line = next(x for x in needed(pilot, float(gaps(pilot, k).mean()), k, critical) if x.n == 8)
    assert line.prompts_in_band > line.prompts
    pairs = drawn(rng, line.prompts_in_band * trials, 8)
    places = np.arange(len(pairs)).reshape(trials, -1)
    found = [k in curves(pairs.chosen(some), draws=200).better for some in places]
    assert covers(np.mean(found), CHANCE, trials, slack=0.03)


def test_a_greater_k_needs_as_many_answers_and_half_the_difference_four_times_the_prompts():
    pairs = drawn(np.random.default_rng(1), 50, 8)
    assert needed(pairs, 0.1, 6)[0].n == 6
    assert needed(pairs, 0.1, 1)[0].prompts == pytest.approx(needed(pairs, 0.05, 1)[0].prompts / 4, abs=3)


def test_the_spread_over_a_single_prompt_is_not_known():
    with pytest.raises(ValueError, match=r"prompts=1 .*at least two"):
        needed(Pairs.of([4], [2], [4], [3]), 0.1, 2)


@pytest.mark.parametrize(("difference", "k", "words"), [(0, 1, "above 0"), (0.1, 5, "at most 4: the fewest")])
def test_wrong_questions_are_refused(difference, k, words):
    with pytest.raises(ValueError, match=words):
        needed(Pairs.of(4, [1, 2], 4, [2, 2]), difference, k)
