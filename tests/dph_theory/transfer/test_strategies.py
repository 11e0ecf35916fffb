"""Which strategy is left: the exact chance, the diffusion, simulations, and test numbers of the theory."""

import numpy as np
import pytest
from scipy.special import expit, logit

from dph_theory.finite_training import SmallNoiseWarning, drift_deviation
from dph_theory.transfer.retention import group_weighting, strategy_drive, trained_shares
from dph_theory.transfer.strategies import (
    chance_of_small_steps,
    chance_to_win,
    drift_variances,
    final_policies,
    growth_beside,
    log_odds_with_kl,
)

SETS, RHO, BASE = [[1, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]], [0.2] * 5, [0.2, 0.3, 0.5]


def apart(rarer):
    """Two strategies that solve different prompts."""
    return [[1, 0], [0, 1]], [1 - rarer, rarer]


@pytest.mark.parametrize("scale", ["none", "std"])
def test_of_these_sets_the_most_merit_is_left_and_not_the_likeliest(scale):
    path = trained_shares(BASE, SETS, RHO, group_weighting(8, scale), [0, 3000])
    assert path[0] == pytest.approx(BASE)
    assert path[1, 0] > 0.998
    end = path[1] @ np.array(SETS).T
    for k in (1, 4, 64):  # Pass@k = Pass@1 in the end.
        assert np.mean(1 - (1 - end) ** k) == pytest.approx(0.6, abs=0.02)


@pytest.mark.parametrize(("size", "kept"), [(8, 0.0), (12, 0.033846), (16, 0.067071)])
def test_maxrl_keeps_the_rarer_strategy_from_its_threshold_on(size, kept):
    success, rho = apart(0.1)
    end = trained_shares([0.5, 0.5], success, rho, group_weighting(size, "mean"), [0, 3e4])[-1, 1]
    assert end == pytest.approx(kept, abs=2e-3)
    gains = growth_beside(success, rho, group_size=size, scale="mean")[1, 0]
    assert (gains > 0) == (kept > 0)
    assert gains == pytest.approx((size - 1) * 0.1 - 0.9)


@pytest.mark.parametrize("size", [2, 3, 8])
def test_the_exact_chance_is_that_of_groups_drawn_until_one_has_won(size):
    """Two of whom the rarer is better: neither the base's shares nor the better alone."""
    rng, end, x = np.random.default_rng(size), logit(0.9), np.full(4000, logit(0.2))
    for _ in range(4000):
        running = np.abs(x) < end
        side = np.where(rng.random(len(x)) < 0.52, 1, -1)
        c = rng.binomial(size, expit(x))
        x = x + running * side * 2 * c * (size - c) / size**2
    chance = chance_to_win(0.2, 0.52, 0.48, group_size=size, step=1.0, left=0.9)
    assert 0.2 < chance < 0.4
    assert (x > 0).mean() == pytest.approx(chance, abs=0.03)


def test_trainings_in_small_steps_follow_the_mean_path():
    for scale in ("none", "std", "mean"):
        how = {"group_size": 8, "scale": scale}
        path = trained_shares(BASE, SETS, RHO, group_weighting(8, scale), [20])[-1]
        ended = final_policies(
            BASE, SETS, RHO, step=0.1, steps=200, prompts=8, seeds=200, rng=np.random.default_rng(0), **how
        )
        assert ended.mean(axis=0) == pytest.approx(path, abs=0.03)


def test_groups_of_two_are_a_ruin_of_gamblers_and_small_steps_a_diffusion():
    up, down, ratio = 6, 2, 0.2 / 0.3
    start, end = (down - up) / 4, (down + up) / 4
    exact = chance_to_win(expit(start), 0.3, 0.2, group_size=2, step=1.0, left=expit(end))
    assert exact == pytest.approx((1 - ratio**down) / (1 - ratio ** (down + up)))
    tiny = {"group_size": 2, "step": 1.0, "left": expit(end)}
    assert chance_to_win(expit(start), 3e-323, 2e-323, **tiny) == pytest.approx(exact)
    for size in (2, 5, 16):
        gaps = []
        for step in (0.4, 0.1):
            race = {"share": 0.2, "first_only": 0.25 + step / 50, "second_only": 0.25 - step / 50}
            race |= {"group_size": size, "step": step, "left": 0.9}
            gaps.append(chance_to_win(**race) - chance_of_small_steps(**race))
        assert abs(gaps[1]) < abs(gaps[0]) < 0.1
        assert abs(gaps[1]) < 0.02


def test_more_prompts_a_step_smaller_steps_and_larger_groups_lessen_noise():
    kind = {"group_size": 8, "step": 1.0}
    base = chance_of_small_steps(0.05, 0.27, 0.23, **kind)
    for change in ({"prompts": 4}, {"step": 0.3}, {"group_size": 32}):
        assert chance_of_small_steps(0.05, 0.27, 0.23, **kind | change) > base
    # In the middle the prompts' luck is left, whatever the group.
    middle = [chance_of_small_steps(0.5, 0.26, 0.24, group_size=g, step=1.0, left=0.6) for g in (8, 512)]
    assert middle[0] == pytest.approx(middle[1], abs=0.01)


def test_with_a_kl_every_seed_stays_near_the_one_stationary_policy():
    beta, kind = 0.1, {"group_size": 2, "step": 0.05, "steps": 6000}
    success, rho = [[1, 0], [0, 1], [1, 1]], [0.3, 0.2, 0.5]
    held = final_policies(
        [0.5, 0.5], success, rho, seeds=2000, beta=beta, rng=np.random.default_rng(1), **kind
    )
    mean, deviation = log_odds_with_kl(0.5, 0.3, 0.2, beta=beta, step=0.05, groups=10**5)
    # Seen at a step, not at a mixed group, peaked policies count a little more.
    assert logit(held[:, 0]).mean() == pytest.approx(mean, abs=0.05)
    assert logit(held[:, 0]).std() == pytest.approx(deviation, rel=0.1)
    free = final_policies([0.5, 0.5], success, rho, seeds=400, rng=np.random.default_rng(1), **kind)
    assert logit(free[:, 0]).min() > mean + 3 * deviation


def test_with_a_kl_small_steps_keep_their_digits_and_large_ones_swing():
    # Where beta is next to nothing, the walk without a KL; at beta step = 3 the deviation changes its sign.
    mean, deviation = log_odds_with_kl(0.5, 0.3, 0.2, beta=1e-17, step=0.5, groups=100)
    assert (mean, deviation) == pytest.approx((100 * 0.25 * 0.1, 0.25 * np.sqrt(100 * (0.5 - 0.01))))
    for groups, remaining in ((0, 1), (1, -0.5), (2, 0.25)):
        mean, _ = log_odds_with_kl(0.5, 0.3, 0.2, beta=3.0, step=1.0, groups=groups)
        assert mean == pytest.approx(0.1 / 3 * (1 - remaining))


RUN = {"prompts": 8, "base_rate": 0.2, "reached": 0.9, "valid": 2, "invalid": 8, "step": 0.16, "answers": 16}


@pytest.mark.parametrize(
    ("coupling", "common", "own", "number"),
    [(0, 0.032546, 0.227823, 8), (0.1, 0.055328, 0.011520, 1.4508), (1, 0.260369, 0, 1)],
)
def test_noise_is_drawn_once_a_shared_direction(coupling, common, own, number):
    found = drift_variances(coupling, **RUN)
    assert found == pytest.approx((common, own, number), abs=5e-5)


def test_rare_successes_keep_their_digits_and_warn():
    # By 30 digits: an integral in V, not in log odds, misses it altogether.
    with pytest.warns(SmallNoiseWarning):
        rare = drift_variances(0, **RUN | {"prompts": 1, "base_rate": 1e-6})
    assert rare.common == pytest.approx(1.3390172e9, rel=1e-7)
    with pytest.warns(SmallNoiseWarning):
        many = drift_variances(
            0.1, **RUN | {"prompts": 32, "base_rate": 1e-6, "reached": 0.99, "invalid": 1000}
        )
    assert many[:2] == pytest.approx((3.6461443e11, 0.86525081), rel=1e-7)


def test_where_nothing_has_risen_there_is_no_drift_and_a_number_of_prompts():
    same = drift_variances(0.1, **RUN | {"reached": 0.2})
    assert (same.common, same.own) == (0, 0)
    assert 1 < same.number < 8


@pytest.mark.parametrize("scale", ["none", "std", "mean"])
def test_growth_beside_strategies_that_solve_prompts_sometimes_is_the_flow_s(scale):
    success, rho = np.array([[0.4, 0.0], [0.0, 0.4]]), np.array([0.5, 0.5])
    weighting, rare = group_weighting(8, scale), 1e-7
    drive = strategy_drive([rare, 1 - rare], success, rho, weighting)[0] / rare
    growth = growth_beside(success, rho, group_size=8, scale=scale)
    assert growth[0, 1] == pytest.approx(drive, rel=1e-4, abs=1e-6)


def test_full_coupling_is_the_drift_of_one_prompt():
    alone = drift_deviation(0.2, 0.9, valid=2, invalid=8, step=0.02, answers=128)
    assert drift_variances(1, **RUN | {"step": 0.02}).common == pytest.approx(float(alone) ** 2)
