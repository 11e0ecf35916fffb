import math

import numpy as np
import pytest
from support.simulated_runs import collapsed, draw, kl_control, prompts_of

from dph_theory import excess_kl, kappa
from full_scale.comparison.frontier import frontier, least_cost, meter_bias
from full_scale.comparison.measurements import Measured, paired


def measured(laws, samples, seed=0):
    rng = np.random.default_rng(seed)
    run, base = (prompts_of(rng, laws, law, samples) for law in (laws.policy, laws.base))
    return paired("test", run, base)


@pytest.mark.parametrize("make", [lambda rng: kl_control(rng, 400, 0.5), lambda rng: collapsed(rng, 400)])
def test_mean_excess_is_the_exact_one(make):
    laws = make(np.random.default_rng(1))
    exact = excess_kl(laws.policy, laws.base, laws.valid)
    # Where the base solves one prompt in hundreds, no number of its samples pins the cost.
    kept = (laws.base * laws.valid).sum(axis=1) > 0.03
    found = frontier(measured(laws, 64))
    gap = (found.excess - exact.excess)[kept]
    assert abs(gap.mean()) < 4 * gap.std() / math.sqrt(kept.sum()) + found.bias
    np.testing.assert_allclose(found.kl, found.cost + found.excess, atol=1e-12)


def test_plugging_in_the_rates_would_make_up_violations():
    """The neighbour: without the corrections the mean excess on the frontier is far below zero."""
    here = measured(kl_control(np.random.default_rng(2), 400, 0.5), 16)
    kept = here.base_correct.any(axis=1) & ~here.base_correct.all(axis=1)
    plugged = here.log_ratio.mean(axis=1)[kept] - kappa(here.rate[kept], here.base_rate[kept])
    assert plugged.mean() < -4 * plugged.std() / math.sqrt(kept.sum())
    found = frontier(here)
    assert found.mean_excess.value > -found.mean_excess.margin()


def test_meter_bias_falls_like_one_over_n():
    for samples in (4, 8, 16, 32, 64):
        assert 0.17 < samples * meter_bias(samples) < 0.19


def test_meter_bias_by_simulation():
    rng = np.random.default_rng(3)
    n, rate = 8, 0.08
    correct = rng.random((200_000, n)) < rate
    zero = np.zeros(correct.shape)
    half = np.tile([True, False], (len(correct), 500))
    found = frontier(Measured(tuple(map(str, range(len(correct)))), correct, zero, zero, half))
    short = kappa(rate, 0.5) + found.excess.mean()
    assert -0.002 < -short <= meter_bias(n) + 0.002


def test_least_cost_lies_below_the_cost():
    laws = collapsed(np.random.default_rng(4), 300)
    truth = kappa((laws.policy * laws.valid).sum(axis=1), (laws.base * laws.valid).sum(axis=1))
    for samples in (4, 32, 256):
        least = least_cost(measured(laws, samples), 0.0027 / 300)
        assert (least <= truth + 1e-12).all()
    # With this many samples it is no empty bound.
    assert least.mean() > 0.3 * truth.mean()


def test_least_cost_is_symmetric_and_zero_where_nothing_moved():
    true, false = np.ones((1, 40), dtype=bool), np.zeros((1, 40), dtype=bool)
    zero = np.zeros((1, 40))
    up = least_cost(Measured(("p",), true, zero, zero, false), 0.01)
    down = least_cost(Measured(("p",), false, zero, zero, true), 0.01)
    assert up == pytest.approx(down)
    # Clopper and Pearson for 40 of 40: (level/2)^(1/40).
    low = (0.01 / 2) ** (1 / 40)
    assert up[0] == pytest.approx(kappa(low, 1 - low), rel=1e-12)
    assert least_cost(Measured(("p",), true, zero, zero, true), 0.01)[0] == 0


def test_drawn_outcomes_follow_the_law():
    rng = np.random.default_rng(5)
    law = np.array([[0.2, 0.5, 0.3]])
    counts = np.bincount(draw(rng, law, 100_000)[0], minlength=3) / 100_000
    np.testing.assert_allclose(counts, law[0], atol=0.01)
