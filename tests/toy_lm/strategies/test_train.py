import numpy as np
import pytest

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence
from toy_lm.strategies.config import Config
from toy_lm.strategies.measure import mean_pass_at_k
from toy_lm.strategies.policy import Policy, law, start
from toy_lm.strategies.task import random_tasks
from toy_lm.strategies.train import Anchor, Optimiser, anchor_pull, train

CONFIG = Config()
TASK, OPTIMISER = CONFIG.task, CONFIG.optimiser


def ends(anchor, eta, conditioning=0.1, optimiser=OPTIMISER, task=TASK):
    """Pass@1 and Pass@16 of the base and after training."""
    keep = np.array([0, optimiser.steps])
    run = train(task, anchor, np.asarray(eta), np.asarray(conditioning), optimiser, keep)
    return mean_pass_at_k(run, task, 1), mean_pass_at_k(run, task, 16)


def test_grpo_raises_pass_at_1_and_lowers_pass_at_16():
    one, many = ends(None, 0.0)
    np.testing.assert_allclose(one, [0.351, 0.490], atol=5e-4)
    np.testing.assert_allclose(many, [0.815, 0.506], atol=5e-4)


def test_the_forward_kl_on_the_easy_type_raises_both():
    one, many = ends(Anchor(FORWARD_KL, everywhere=False), 1.0)
    np.testing.assert_allclose(one, [0.351, 0.544], atol=5e-4)
    np.testing.assert_allclose(many, [0.815, 0.958], atol=5e-4)


def test_a_policy_that_conditions_on_the_type_loses_nothing():
    one, many = ends(None, np.zeros(2), np.array([0.0, 3.0]))
    assert (np.diff(one, axis=0) > 0.1).all()
    falls, rises = np.diff(many, axis=0)[0]
    assert falls < -0.3
    assert rises > 0.18


def test_a_step_is_the_gradient_of_the_objective():
    """Plain reward less the anchor: the first step from a moved policy, against finite differences."""
    anchor, eta, g = Anchor(JENSEN_SHANNON, everywhere=True), np.array(0.7), np.array(0.4)
    one = Optimiser(1.0, 1, None)
    moved = law(start(TASK, ()), TASK, g).outcomes
    after = train(TASK, anchor, eta, g, one, np.array([0, 1]))
    np.testing.assert_allclose(after[0], moved, rtol=1e-14)

    def objective(policy):
        outcomes = law(policy, TASK, g).outcomes
        return (TASK.weights * (outcomes @ TASK.valid - eta * JENSEN_SHANNON(outcomes, TASK.base_law))).sum()

    here, gradient = start(TASK, ()), []
    for name in Policy._fields:
        values = getattr(here, name)
        slopes = np.zeros(values.shape)
        for index in np.ndindex(values.shape):
            change = np.zeros(values.shape)
            change[index] = 1e-6
            up, down = (objective(here._replace(**{name: values + s * change})) for s in (1, -1))
            slopes[index] = (up - down) / 2e-6
        gradient.append(values + slopes)
    np.testing.assert_allclose(after[1], law(Policy(*gradient), TASK, g).outcomes, atol=1e-8)


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("divergence", [FORWARD_KL, REVERSE_KL, JENSEN_SHANNON, alpha_divergence(0.5)])
def test_the_anchor_s_pull_is_the_divergence_s_own_gradient(divergence, everywhere):
    rng = np.random.default_rng(0)
    policy = Policy(*(rng.normal(size=(3, *shape)) for shape in ((5,), (6, 5), (5,))))
    now, anchor = law(policy, TASK, np.array(0.5)), Anchor(divergence, everywhere)
    expected = TASK.weights[:, None] * divergence.gradient(now.outcomes, TASK.base_law)
    np.testing.assert_allclose(anchor_pull(now, TASK, anchor), expected[:, anchor.types], atol=1e-14)


def test_a_batch_trains_as_each_alone():
    short = Optimiser(0.5, 30, 8)
    eta, g = np.array([0.1, 1.0, 5.0]), np.array([[0.0], [0.3]])
    anchor, keep = Anchor(REVERSE_KL, everywhere=True), np.array([0, 7, 30])
    batch = train(TASK, anchor, eta, g, short, keep)
    assert batch.shape == (3, 2, 3, 6, 10)
    for i, j in np.ndindex(2, 3):
        alone = train(TASK, anchor, eta[j : j + 1], g[i], short, keep)
        np.testing.assert_allclose(batch[:, i, j], alone[:, 0], rtol=1e-12)


def test_a_batch_of_tasks_trains_as_each_alone():
    tasks, short = random_tasks(3, 4, 0.9, np.random.default_rng(0)), Optimiser(0.5, 30, 4)
    anchor, eta, g = Anchor(FORWARD_KL, everywhere=False), np.array(0.5), np.array(0.1)
    batch = train(tasks, anchor, eta, g, short, np.array([0, 30]))
    for i in range(3):
        single = tasks._replace(weights=tasks.weights[i], base=tasks.base[i], hard_rate=tasks.hard_rate[i])
        alone = train(single, anchor, eta, g, short, np.array([0, 30]))
        np.testing.assert_allclose(batch[:, i], alone, rtol=1e-12)


def test_without_weight_an_anchor_is_none():
    short = Optimiser(0.5, 20, 8)
    free = ends(None, 0.0, optimiser=short)
    for divergence in (FORWARD_KL, REVERSE_KL, JENSEN_SHANNON):
        np.testing.assert_array_equal(ends(Anchor(divergence, everywhere=True), 0.0, optimiser=short), free)
