import numpy as np
import pytest

from dph_theory.atlas.problems import EQUAL, LENGTHS, UNEQUAL, distance
from dph_theory.atlas.published_methods import PUBLISHED_METHODS
from dph_theory.atlas.training import (
    GROUPS,
    REACHED,
    drawn,
    drift_over_chains,
    every_group,
    expected,
    flow,
    gradient,
    token_coefficients,
    updated_logits,
)
from dph_theory.atlas.updates import GROUP, GroupBatch
from dph_theory.binary_reward import filtered, tilted
from dph_theory.divergences import FORWARD_KL
from dph_theory.finite_training import drift_deviation
from dph_theory.finite_training.decision import plain_gradient, uniform_on_likeliest
from dph_theory.stationary import answer_probabilities, group_weight, sequence_policy, token_policy

BY_NAME = {method.name: method for method in PUBLISHED_METHODS}


def test_every_group_stands_for_its_orders_and_has_its_chance():
    groups, orders = every_group(UNEQUAL)
    assert orders.sum() == len(UNEQUAL.verdicts) ** GROUP
    assert expected(LENGTHS, LENGTHS.start).weights.sum() == pytest.approx(1)
    assert (np.sort(groups, axis=1) == groups).all()


@pytest.mark.parametrize(
    ("name", "weight"),
    [
        ("GRPO", lambda v: group_weight(GROUP, v)),
        ("Dr. GRPO", lambda v: 1 - 1 / GROUP),
        ("RLOO", lambda v: 1.0),
        ("MaxRL", lambda v: group_weight(GROUP, v, "mean")),
        ("REINFORCE++", lambda v: 1 / np.sqrt(v * (1 - v))),
        ("positives only", lambda v: 1.0),
        ("negatives only", lambda v: 1.0),
        ("W-REINFORCE", lambda v: 1.1),
    ],
)
def test_weights_of_the_verdict_move_as_the_plain_gradient_on_their_clock(name, weight):
    theta = np.log([0.1, 0.3, 0.2, 0.4])
    update = gradient(BY_NAME[name], UNEQUAL, theta, expected(UNEQUAL, theta), 0.0)
    plain = plain_gradient(theta, UNEQUAL.valid)
    assert update == pytest.approx(weight(0.6) * plain, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "policy", "settings"),
    [
        ("KL in the reward", sequence_policy, {}),
        ("corrected k3, answer means", token_policy, {"per_answer_mean": True}),
        ("k3 in the loss", token_policy, {"divergence": FORWARD_KL}),
    ],
)
def test_a_penalty_ends_at_its_stationary_policy(name, policy, settings):
    end = flow(BY_NAME[name], LENGTHS, 0.3)[1]
    tables = policy(LENGTHS.base, LENGTHS.valid, 0.3, end=LENGTHS.end, **settings)
    stationary = LENGTHS.tokens.per_answer(answer_probabilities(tables, LENGTHS.end))
    assert distance(LENGTHS.answers(end), stationary) < 2e-3


def test_targets_end_at_the_filtered_model_and_the_plain_gradient_at_the_likeliest():
    target = filtered(UNEQUAL.base[0], UNEQUAL.valid)
    for name in ("DPH-F, solved prompts", "alpha-DPG", "KL-DPG", "rejection fine-tuning"):
        assert distance(UNEQUAL.answers(flow(BY_NAME[name], UNEQUAL, 0.1)[1]), target) < 2e-3
    likeliest = uniform_on_likeliest(UNEQUAL.base[0], UNEQUAL.valid)
    assert distance(UNEQUAL.answers(flow(BY_NAME["RLOO"], UNEQUAL, 0.0)[1]), likeliest) < 1e-2
    entropy = flow(BY_NAME["entropy bonus, answer"], UNEQUAL, 0.3)[1]
    assert distance(UNEQUAL.answers(entropy), tilted(np.full(4, 0.25), UNEQUAL.valid, 0.3)) < 2e-3


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("GRPO", {"group_size": GROUP}),
        ("positives only", {"baseline": "none"}),
        ("negatives only", {"baseline": "one"}),
    ],
)
def test_chains_drift_as_the_closed_form_says(name, settings):
    method, rounds = BY_NAME[name], 40
    step = flow(method, EQUAL, 0.0, pass_rate=REACHED)[0] / rounds
    formula = drift_deviation(0.3, REACHED, valid=2, invalid=2, step=step, answers=GROUPS * GROUP, **settings)
    drift = drift_over_chains(method, EQUAL, 0.0, rounds=rounds)
    assert drift == pytest.approx(float(formula), rel=0.12, abs=1e-9)


def test_a_round_of_drawn_groups_is_the_expected_one_on_average():
    method, rng = BY_NAME["unlikeliness"], np.random.default_rng(1)
    theta = np.tile(LENGTHS.start, (2000, 1))
    moved = updated_logits(method, LENGTHS, theta, drawn(LENGTHS, theta, 8, rng), 0.0, 1.0) - theta
    update = gradient(method, LENGTHS, LENGTHS.start, expected(LENGTHS, LENGTHS.start), 0.0)
    error = moved.std(axis=0) / np.sqrt(len(moved))
    assert (np.abs(moved.mean(axis=0) - update) < 5 * error + 1e-9).all()
    assert (error > 0).sum() >= 6


def test_clips_act_on_later_updates_alone_and_only_where_the_ratio_has_moved():
    theta = UNEQUAL.start
    samples = expected(UNEQUAL, theta)
    plain, clipped = BY_NAME["GRPO"], BY_NAME["PPO clip"]
    # at the first update, and near it, a clipped token is moved as any other
    for method in (clipped, BY_NAME["CISPO"], BY_NAME["DPPO mask"]):
        assert gradient(method, UNEQUAL, theta, samples, 0.0) == pytest.approx(
            gradient(plain, UNEQUAL, theta, samples, 0.0)
        )
    moved = theta + np.array([0.5, 0.0, 0.0, 0.0])
    late, free = (
        np.bincount(entries.ravel(), coefficient.ravel())
        for old in (samples.log_pi, None)
        for entries, coefficient in token_coefficients(clipped, UNEQUAL, moved, samples, 0.0, old)
    )
    # the first answer is right and has risen by more than a fifth: nothing pushes it further up
    assert free[0] > 0
    assert late[0] == pytest.approx(0, abs=1e-12)
    assert late[3] < 0


def test_batches_side_by_side_are_updated_each_by_its_own():
    method, rng = BY_NAME["PPO clip"], np.random.default_rng(2)
    theta = LENGTHS.start + rng.normal(0, 0.5, (3, len(LENGTHS.start)))
    batches = drawn(LENGTHS, theta, 5, rng)
    together = updated_logits(method, LENGTHS, theta, batches, 0.0, 4.0)
    for i in range(3):
        one = GroupBatch(*(part[i : i + 1] for part in batches))
        alone = updated_logits(method, LENGTHS, theta[i : i + 1], one, 0.0, 4.0)
        assert together[i] == pytest.approx(alone[0])
