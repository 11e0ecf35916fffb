"""Which strategies an advantage retains: numbers, the condition at the end, and flows from many starts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dph_theory.transfer.retention import (
    group_weighting,
    power_weighting,
    retained_shares,
    shared_objective,
    strategy_drive,
    trained_shares,
)

UNDIVIDED, STD, MAXRL = (group_weighting(16, form) for form in ("none", "std", "mean"))
FORMS = [group_weighting(16), group_weighting(8, "mean")]
FORMS += map(power_weighting, (0.5, 2.0))


@pytest.mark.parametrize(
    ("merits", "weighting", "ends"),
    [
        ([1, 0.9, 0.8, 0.6], group_weighting(16),
         [[0.493814995114, 0.270990720666, 0.180792329405, 0.054401954814], [1, 0, 0, 0]]),
        ([1, 0.95, 0.9, 0.85], group_weighting(8),
         [[0.381435757536, 0.275239098772, 0.202231166919, 0.141093976773], [1, 0, 0, 0]]),
        ([1, 0.9, 0.9], group_weighting(8), [[0.559827537143, 0.220086231428, 0.220086231428], [1, 0, 0]]),
        ([0.9, 1, 0.9], group_weighting(8), [[0.220086231428, 0.559827537143, 0.220086231428], [0, 1, 0]]),
        ([0.9, 0.1], group_weighting(8, "mean"), [[1, 0]]),
        ([0.9, 0.1], group_weighting(12, "mean"), [[0.966154, 0.033846]]),
        ([0.9, 0.1], group_weighting(16, "mean"), [[0.932929, 0.067071]]),
        ([3, 2, 1], group_weighting(8, "none"), [[1, 0, 0]]),
        ([3, 2, 1], group_weighting(3), [[1, 0, 0]]),
        ([3, 2, 1], power_weighting(0), [[1, 0, 0]]),
        ([3, 2, 1], power_weighting(1), [[1 / 2, 1 / 3, 1 / 6]]),
        ([3, 2, 1], power_weighting(0.5), [[9 / 14, 4 / 14, 1 / 14]]),
        ([0.6, 0.4], group_weighting(16), [[1, 0]]),
        ([1, 0.99], group_weighting(16), [[1, 0]]),
        ([1, 1], group_weighting(8, "none"), [[0.5, 0.5]]),
        ([1, 1, 0.2], group_weighting(8), [[0.5, 0.5, 0]]),
        ([2, 2, 2], group_weighting(8), [[1 / 3, 1 / 3, 1 / 3]]),
    ],
)  # fmt: skip
def test_stable_ends_of_strategies_that_share_no_prompt(merits, weighting, ends):
    found = retained_shares(merits, weighting)
    assert found.shape == np.shape(ends)
    assert found == pytest.approx(np.array(ends), abs=1e-6)


def test_two_mixtures_may_be_stable_beside_the_best_strategy_alone():
    ends = retained_shares([1, *[0.843] * 3, *[0.7034] * 34], group_weighting(8))
    assert ends[:, 0] == pytest.approx([0.4836043242, 0.5559991940, 1], abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_flows_from_anywhere_end_at_a_listed_end_and_start_near_one_stay_there(seed):
    rng = np.random.default_rng(seed)
    weighting = group_weighting(8)
    merits = np.exp(-0.15 * rng.random(4))
    ends = retained_shares(merits, weighting)
    for base in [*rng.dirichlet(np.full(4, 5.0), 3), *(0.98 * ends + 0.005)]:
        end = trained_shares(base, np.eye(4), merits / merits.sum(), weighting, [1e7])[0]
        assert min(abs(end - listed).max() for listed in ends) < 1e-4


@pytest.mark.parametrize("weighting", FORMS, ids=lambda weighting: weighting.name)
@given(tilts=st.lists(st.floats(-0.15, 0.15), min_size=4, max_size=8))
@settings(max_examples=6, deadline=None)
def test_merit_times_weight_is_level_where_a_strategy_is_left_and_no_more_where_it_is_lost(weighting, tilts):
    merits = np.exp(tilts)
    for shares in retained_shares(merits, weighting):
        assert shares.sum() == pytest.approx(1)
        left = shares > 1e-200
        levels = merits * weighting.weight(np.where(left, shares, 1e-300))
        if left.sum() > 1:
            assert levels[left] == pytest.approx(np.full(left.sum(), levels[left][0]), rel=1e-6)
        assert (levels[~left] <= levels[left].max() * (1 + 1e-9)).all()
        # More merit, no smaller a share.
        assert (np.diff(shares[np.argsort(merits)]) >= -1e-9).all() or left.sum() == 1


def sets_at_random(rng, prompts=6, strategies=4):
    success = (rng.random((prompts, strategies)) < 0.5).astype(float)
    success[np.arange(strategies), np.arange(strategies)] = 1.0
    success[~success.any(axis=1), 0] = 1.0
    return success, rng.dirichlet(np.ones(prompts))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "weighting", [group_weighting(8, "mean"), power_weighting(1.0)], ids=lambda w: w.name
)
def test_flows_of_a_concave_objective_end_at_one_objective_from_every_base(seed, weighting):
    rng = np.random.default_rng(seed)
    success, rho = sets_at_random(rng)
    bases = rng.dirichlet(np.full(4, 2.0), size=3)
    ends = [trained_shares(base, success, rho, weighting, [3e4])[0] for base in bases]
    reached = np.array([shared_objective(end, success, rho, weighting) for end in ends])
    assert reached == pytest.approx(np.full(3, reached[0]), abs=2e-4)
    policies = rng.dirichlet(np.ones(4), size=200)
    assert (shared_objective(policies, success, rho, weighting) <= reached.max() + 2e-4).all()


@pytest.mark.parametrize("seed", range(3))
def test_undivided_one_strategy_is_left_and_with_the_std_several_of_about_equal_merit(seed):
    rng = np.random.default_rng(seed)
    merits = rng.permutation([1.0, 0.97, 0.94, 0.91])
    rho, base = merits / merits.sum(), rng.dirichlet(np.full(4, 20.0))
    flows = {
        form: trained_shares(base, np.eye(4), rho, group_weighting(16, form), [1e5])[0]
        for form in ("none", "std")
    }
    assert flows["none"] == pytest.approx(np.eye(4)[rho.argmax()], abs=1e-3)
    assert flows["std"] == pytest.approx(retained_shares(rho, group_weighting(16))[0], abs=1e-6)


@given(seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_the_drive_is_the_slope_of_the_objective(seed):
    rng = np.random.default_rng(seed)
    success, rho = sets_at_random(rng)
    theta, eps = rng.normal(size=4), 1e-6

    def objective(logits):
        weights = np.exp(logits)
        return shared_objective(weights / weights.sum(), success, rho, weighting)

    for weighting in FORMS:
        steps = eps * np.eye(4)
        slopes = [(objective(theta + step) - objective(theta - step)) / (2 * eps) for step in steps]
        policy = np.exp(theta) / np.exp(theta).sum()
        assert strategy_drive(policy, success, rho, weighting) == pytest.approx(slopes, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(("error", "share"), [(0.02, 0), (1 / 16, 0), (0.1, 0.0671), (0.2, 0.1936)])
def test_a_wrong_strategy_is_retained_by_maxrl_from_one_in_g_on_and_by_no_other_group(error, share):
    merits = [1 - error, error]
    assert retained_shares(merits, MAXRL)[:, 1] == pytest.approx([share], abs=5e-5)
    assert [retained_shares(merits, weighting)[:, 1] for weighting in (UNDIVIDED, STD)] == [0, 0]
    assert retained_shares(merits, power_weighting(1.0))[:, 1] == pytest.approx([error])
