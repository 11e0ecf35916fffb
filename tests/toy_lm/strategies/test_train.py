from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence
from dph_theory.losses import group_advantages
from toy_lm.strategies.results import StrategiesConfig
from toy_lm.strategies.task import (
    ALL,
    EASY,
    PolicyOutcomes,
    StrategiesPolicy,
    policy_outcomes,
    random_tasks,
    start,
    task,
)
from toy_lm.strategies.train import (
    Anchor,
    Optimiser,
    anchor_gradient,
    largest_strength,
    mean_pass_at_k,
    measure,
    reward_gradient,
    train,
)

TASK = task(np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.4]), easy_rate=0.9, hard_rate=0.25)
COLLAPSED = np.array([[0.1, 0, 0.9, 0], [0.5, 0, 0.5, 0], [1, 0, 0, 0]])
"""Only the first strategy is left, and passes on its own type with probability one half."""
DEFAULT = StrategiesConfig().task


def test_the_base_and_a_collapsed_policy_by_hand():
    base, collapsed = measure(TASK.base_distribution, TASK, 2), measure(COLLAPSED, TASK, 16)
    rates = np.array([0.9, 0.15, 0.1])
    assert base.pass_at_1 == pytest.approx(TASK.weights @ rates, rel=1e-14)
    assert base.pass_at_k == pytest.approx(TASK.weights @ (1 - (1 - rates) ** 2), rel=1e-14)
    assert base.excess_kl == pytest.approx(0, abs=1e-15)
    np.testing.assert_allclose([base.easy_rate, base.guarantee], 0.9, rtol=1e-14)
    assert base.easy_entropy == pytest.approx(-(0.6 * np.log(0.6) + 0.4 * np.log(0.4)), rel=1e-14)
    assert collapsed.pass_at_1 == pytest.approx(0.5 * 0.9 + 0.3 * 0.5, rel=1e-14)
    # On the easy type both parts narrow to the first strategy, on H_1 the failures do, on H_2 too.
    excess = 0.5 * np.log(1 / 0.6) + 0.3 * 0.5 * np.log(0.85 / 0.45) + 0.2 * np.log(0.9 / 0.6)
    assert collapsed.excess_kl == pytest.approx(excess, rel=1e-13)
    # A strategy that is gone takes the whole guarantee with it, not the pass rate.
    assert (collapsed.easy_entropy, collapsed.guarantee) == (0, 0)
    assert collapsed.easy_rate == pytest.approx(0.9)


@given(st.lists(st.floats(-30, 30), min_size=10, max_size=10))
def test_of_any_policy_the_bounds_hold(parameters):
    theta, phi, skill = np.split(np.array(parameters), [2, 8])
    policy = StrategiesPolicy(theta, phi.reshape(3, 2), skill)
    outcomes = policy_outcomes(policy, TASK, np.array(1.0)).outcomes
    found = measure(outcomes, TASK, 8)
    assert found.guarantee <= found.easy_rate + 1e-15
    assert found.excess_kl >= 0
    assert found.pass_at_1 <= found.pass_at_k + 1e-15
    assert 0 <= found.easy_entropy <= np.log(2) + 1e-15


def one_of(tasks, i):
    return tasks._replace(weights=tasks.weights[i], base=tasks.base[i], hard_rate=tasks.hard_rate[i])


def curvature(divergence, task, g, types):
    """The largest eigenvalue of the Hessian of sum_t w_t D_f at the base, by finite differences."""
    here = start(task, ())
    flat, shapes = np.concatenate([p.ravel() for p in here]), [p.shape for p in here]

    def value(vector):
        parts = np.split(vector, np.cumsum([np.prod(shape) for shape in shapes])[:-1])
        policy = StrategiesPolicy(*(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)))
        laws = policy_outcomes(policy, task, g).outcomes[types]
        return (task.weights[types] * divergence(laws, task.base_distribution[types])).sum()

    # At the base value and slope vanish: H_ij = D(h e_i + h e_j)/h^2 - H_ii/2 - H_jj/2, to first order.
    h, eye = 1e-4, np.eye(len(flat))
    both = np.array([[value(flat + h * (a + b)) + value(flat - h * (a + b)) for a in eye] for b in eye])
    apart = np.array([[value(flat + h * (a - b)) + value(flat - h * (a - b)) for a in eye] for b in eye])
    return np.linalg.eigvalsh((both - apart) / (4 * h * h))[-1]


@pytest.mark.parametrize(("types", "divergence"), [(EASY, FORWARD_KL), (ALL, JENSEN_SHANNON)])
def test_the_largest_strength_is_told_by_the_curvature_of_the_penalty(types, divergence):
    tasks, g = random_tasks(3, 2, 0.9, np.random.default_rng(3)), np.array([[0.0], [0.6]])
    found = largest_strength(tasks, g, types, 0.5)
    assert found.shape == (2, 3)
    measured = curvature(divergence, one_of(tasks, 1), g[1, 0, ...], types) / divergence.curvature
    assert found[1, 1] == pytest.approx(2 / (0.5 * measured), rel=1e-4)


@pytest.mark.parametrize("types", [EASY, ALL])
def test_below_it_a_strong_anchor_settles(types):
    anchor, g = Anchor(REVERSE_KL, everywhere=types == ALL), np.array(0.1)
    most = largest_strength(DEFAULT, g, types, 0.5)
    run = train(DEFAULT, anchor, np.asarray(0.9 * most), g, Optimiser(0.5, 400, 8), np.array([399, 400]))
    assert np.abs(np.diff(run, axis=0)).max() < 1e-3


def test_above_it_training_is_refused():
    g = np.array([0.1, 1.0])
    most = largest_strength(DEFAULT, g, ALL, 0.5)
    assert most[1] < most[0]
    # Jensen-Shannon has half the curvature, so twice the coefficient is as strong.
    eta = 2 * most * np.array([0.99, 1.01])
    anchor = Anchor(JENSEN_SHANNON, everywhere=True)
    with pytest.raises(ValueError, match=f"eta={eta[1]}"):
        train(DEFAULT, anchor, eta, g, Optimiser(0.5, 1, 8), np.array([0, 1]))
    train(DEFAULT, anchor, eta[:1], g[:1], Optimiser(0.5, 1, 8), np.array([0, 1]))


@pytest.mark.parametrize("group", [2, 4])
def test_the_gradient_is_that_of_all_groups_enumerated(group):
    policy, valid = np.array([0.3, 0.2, 0.4, 0.1]), np.array([0.0, 0, 1, 1])
    exact = np.zeros(4)
    for answers in product(range(4), repeat=group):
        chosen = list(answers)
        advantages = group_advantages(torch.tensor(valid[chosen])[None])[0].numpy()
        # d log P(y) / d logits = e_y - P.
        scores = np.eye(4)[chosen] - policy
        exact += policy[chosen].prod() * (advantages[:, None] * scores).mean(axis=0)
    two = task(np.array([0.5, 0.2, 0.3]), np.array([0.6, 0.4]), easy_rate=0.9, hard_rate=0.4)
    current = PolicyOutcomes(np.tile(policy, (3, 1)), np.zeros((3, 4)))
    expected = two.weights[:, None] * exact
    np.testing.assert_allclose(reward_gradient(current, two, group), expected, rtol=1e-12)


def ends(anchor, eta, conditioning):
    """Pass@1 and Pass@16 of the base and after training as the experiment does."""
    optimiser = StrategiesConfig().optimiser
    run = train(DEFAULT, anchor, eta, conditioning, optimiser, np.array([0, optimiser.steps]))
    return mean_pass_at_k(run, DEFAULT, 1), mean_pass_at_k(run, DEFAULT, 16)


def test_grpo_raises_pass_at_1_and_lowers_pass_at_16_unless_the_policy_conditions_on_the_type():
    one, many = ends(None, np.zeros(3), np.array([0.1, 0.0, 3.0]))
    np.testing.assert_allclose(one[:, 0], [0.351, 0.490], atol=5e-4)
    np.testing.assert_allclose(many[:, 0], [0.815, 0.506], atol=5e-4)
    assert (np.diff(one, axis=0) > 0.1).all()
    _, falls, rises = np.diff(many, axis=0)[0]
    assert falls < -0.3
    assert rises > 0.18


def test_the_forward_kl_on_the_easy_type_raises_both():
    one, many = ends(Anchor(FORWARD_KL, everywhere=False), np.array(1.0), np.array(0.1))
    np.testing.assert_allclose(one, [0.351, 0.544], atol=5e-4)
    np.testing.assert_allclose(many, [0.815, 0.958], atol=5e-4)


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("divergence", [FORWARD_KL, REVERSE_KL, JENSEN_SHANNON, alpha_divergence(0.5)])
def test_the_anchor_s_pull_is_the_divergence_s_own_gradient(divergence, everywhere):
    rng = np.random.default_rng(0)
    policy = StrategiesPolicy(*(rng.normal(size=(3, *shape)) for shape in ((5,), (6, 5), (5,))))
    now, anchor = policy_outcomes(policy, DEFAULT, np.array(0.5)), Anchor(divergence, everywhere)
    expected = DEFAULT.weights[:, None] * divergence.gradient(now.outcomes, DEFAULT.base_distribution)
    np.testing.assert_allclose(anchor_gradient(now, DEFAULT, anchor), expected[:, anchor.types], atol=1e-14)


def test_a_batch_trains_and_is_measured_as_each_alone():
    tasks, short = random_tasks(3, 4, 0.9, np.random.default_rng(0)), Optimiser(0.5, 30, 8)
    eta, g = np.array([0.1, 1.0, 2.0]), np.array([[0.0], [0.3]])
    anchor, keep = Anchor(REVERSE_KL, everywhere=True), np.array([0, 7, 30])
    batch = train(tasks, anchor, eta, g, short, keep)
    assert batch.shape == (3, 2, 3, 5, 8)
    for i, j in np.ndindex(2, 3):
        alone = train(one_of(tasks, j), anchor, eta[j, ...], g[i, 0, ...], short, keep)
        np.testing.assert_allclose(batch[:, i, j], alone, rtol=1e-12)
        for many, one in zip(measure(batch, tasks, 4), measure(alone, one_of(tasks, j), 4), strict=True):
            np.testing.assert_allclose(many[:, i, j], one, rtol=1e-9, atol=1e-12)
