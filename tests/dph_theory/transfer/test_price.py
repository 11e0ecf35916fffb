"""What retention costs: sampled groups, runs to a pass rate, verifiers that err, and stored counts."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expit, logit

from dph_theory.stationary.groups import SCALES, group_weight
from dph_theory.transfer.price import (
    observed_drive,
    steps_to_reach,
    update_moments,
    useful_share,
    weight_of_counts,
)
from dph_theory.transfer.retention import (
    group_weighting,
    pass_at_k_weighting,
    power_weighting,
    retained_shares,
)

UNDIVIDED, STD, MAXRL = (group_weighting(16, form) for form in ("none", "std", "mean"))


def advantages(verdicts, scale):
    correct, size = verdicts.sum(axis=1, keepdims=True), verdicts.shape[1]
    mixed = (correct > 0) & (correct < size)
    spread = SCALES[scale](np.clip(correct, 1, size - 1), size)
    return np.where(mixed, (verdicts - correct / size) / spread, 0.0)


@pytest.mark.parametrize("scale", ["none", "std", "mean"])
def test_moments_and_drives_are_those_of_sampled_groups_and_of_verdicts_that_err(scale):
    rng, rate = np.random.default_rng(0), 0.2
    correct = rng.random((200_000, 8)) < rate
    updates = (advantages(correct, scale) * (correct - rate)).mean(axis=1)
    mean, variance = update_moments(8, rate, scale)
    assert updates.mean() == pytest.approx(mean, rel=0.02)
    assert updates.var() == pytest.approx(variance, rel=0.02)
    chance = np.where(correct, 1 - 0.1, 0.15)
    verdicts = rng.random(correct.shape) < chance
    drive = (advantages(verdicts, scale) * (correct - rate)).mean()
    assert observed_drive([0, 1], power_weighting(2.0)) == pytest.approx([0, 0])
    exact = observed_drive(rate, group_weighting(8, scale), accepted=0.15, refused=0.1)
    assert drive == pytest.approx(exact, rel=0.03)


@pytest.mark.parametrize("weighting", [UNDIVIDED, STD, MAXRL, power_weighting(0.5)], ids=lambda w: w.name)
def test_steps_are_those_of_the_run(weighting):
    def slope(_, z):
        return weighting.weight(expit(z)) * expit(z) * expit(-z)

    time = steps_to_reach(0.02, 0.8, weighting)
    run = solve_ivp(slope, (0, time), [logit(0.02)], rtol=1e-10, atol=1e-12)
    assert expit(run.y[0, -1]) == pytest.approx(0.8, rel=1e-7)
    assert steps_to_reach(0.3, 0.3, weighting) == 0
    with pytest.raises(ValueError, match=r"reached=0\.1"):
        steps_to_reach(0.3, 0.1, weighting)


def test_the_rate_of_error_from_which_maxrl_is_better_is_the_pass_rate_itself():
    for rate in (0.01, 0.1, 0.4):
        shares = np.array([useful_share(rate, rate * x, MAXRL) for x in (0.5, 1, 2)])
        rival = np.array([useful_share(rate, rate * x, UNDIVIDED) for x in (0.5, 1, 2)])
        assert np.sign(shares - rival).tolist() == pytest.approx([-1, 0, 1])


@pytest.mark.parametrize(("error", "share"), [(0.02, 0), (1 / 16, 0), (0.1, 0.0671), (0.2, 0.1936)])
def test_a_wrong_strategy_is_retained_by_maxrl_from_one_in_g_on_and_by_no_other_group(error, share):
    merits = [1 - error, error]
    assert retained_shares(merits, MAXRL)[1] == pytest.approx(share, abs=5e-5)
    assert [retained_shares(merits, weighting)[1] for weighting in (UNDIVIDED, STD)] == [0, 0]
    assert retained_shares(merits, power_weighting(1.0))[1] == pytest.approx(error)


@pytest.mark.parametrize("answers", [0, 6, 64])
def test_a_weight_from_stored_counts_is_that_of_larger_groups_and_shrinks_to_none(answers):
    rates = np.array([0.0, 1e-3, 0.2, 1.0])
    expected = group_weight(answers + 2, rates, "mean")
    assert weight_of_counts(answers, rates) == pytest.approx(expected, rel=1e-10)
    shrunk = weight_of_counts(answers, rates, correct=2.0, incorrect=2.0)
    assert (shrunk[:2] < expected[:2]).all() or not answers
    assert weight_of_counts(answers, rates, correct=1e9, incorrect=1e9) == pytest.approx(np.full(4, 2.0))


@pytest.mark.parametrize("k", [2, 4, 16])
def test_pass_at_k_has_shares_in_closed_form_and_no_power_has_more_of_both_than_its_mixtures(k):
    merits = np.array([0.4, 0.3, 0.2, 0.1])
    shares = retained_shares(merits, pass_at_k_weighting(k))
    left, level = shares > 0, (merits * (1 - shares) ** (k - 1))[0]
    closed = np.maximum(0, 1 - (level / merits) ** (1 / (k - 1)))
    assert shares == pytest.approx(closed, abs=1e-9)
    assert left.sum() >= 2

    def passes(policy):
        return np.array([merits @ policy, merits @ (1 - (1 - policy) ** k)])

    ends = [passes(retained_shares(merits, power_weighting(p))) for p in (0.5, 1.0, 2.0)]
    for at_once in (0.0, 0.3, 1.0, 3.0):
        best = passes(retained_shares(merits, pass_at_k_weighting(k, at_once)))
        assert all(best @ [at_once, 1] >= end @ [at_once, 1] for end in ends)
