import numpy as np
import pytest
from scipy import stats
from support.sampled_counts import covers, shifted

from dph_theory.counts import Pairs
from dph_theory.counts.gain import gain, mantel_haenszel, one_shift, shifts

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
    found = gain(pairs)
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


@pytest.mark.slow
def test_the_spread_of_shifts_is_covered():
    rng, trials, inside, zero = np.random.default_rng(3), 120, 0, 0
    for _ in range(trials):
        found = shifts(informative(shifted(rng, 120, 24, 1.0, spread=0.8).pairs))[1]
        inside += found.low <= 0.8 <= found.high
        zero += shifts(informative(shifted(rng, 60, 12, 1.0).pairs))[1].low == 0
    assert covers(inside / trials, 0.95, trials, slack=0.01)
    assert zero / trials >= 0.95


def test_where_nothing_is_known_nothing_is_claimed():
    found = gain(Pairs.of(4, [0, 4], 4, [0, 4]))
    assert (found.informative, found.p_one_shift) == (0, 1)
    assert found.pooled.high == np.inf
    assert mantel_haenszel(Pairs.of(4, [0, 0], 4, [2, 1])).value == np.inf
    _, spread = shifts(Pairs.of(40, [20, 20, 20], 40, [30, 30, 30]))
    assert (spread.value, spread.low) == (0, 0)
