from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence
from dph_theory.laws import group_weight
from dph_theory.losses import group_advantages
from toy_lm.strategies.results import Config
from toy_lm.strategies.task import ALL, EASY, Policy, law, random_tasks, start, task
from toy_lm.strategies.train import (
    Anchor,
    Optimiser,
    anchor_pull,
    group_gain,
    largest_strength,
    mean_pass_at_k,
    measure,
    train,
)

TASK = task(np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.4]), easy_rate=0.9, hard_rate=0.25)
COLLAPSED = np.array([[0.1, 0, 0.9, 0], [0.5, 0, 0.5, 0], [1, 0, 0, 0]])
"""Only the first strategy is left, and passes on its own type with probability one half."""


def test_the_base_by_hand():
    found = measure(TASK.base_law, TASK, 2)
    rates = np.array([0.9, 0.15, 0.1])
    assert found.pass_at_1 == pytest.approx(TASK.weights @ rates, rel=1e-14)
    assert found.pass_at_k == pytest.approx(TASK.weights @ (1 - (1 - rates) ** 2), rel=1e-14)
    assert found.excess_kl == pytest.approx(0, abs=1e-15)
    np.testing.assert_allclose([found.easy_rate, found.guarantee], 0.9, rtol=1e-14)
    assert found.easy_entropy == pytest.approx(-(0.6 * np.log(0.6) + 0.4 * np.log(0.4)), rel=1e-14)


def test_the_collapsed_policy_by_hand():
    found = measure(COLLAPSED, TASK, 16)
    assert found.pass_at_1 == pytest.approx(0.5 * 0.9 + 0.3 * 0.5, rel=1e-14)
    # On the easy type both parts narrow to the first strategy, on H_1 the failures do, on H_2 too.
    excess = 0.5 * np.log(1 / 0.6) + 0.3 * 0.5 * np.log(0.85 / 0.45) + 0.2 * np.log(0.9 / 0.6)
    assert found.excess_kl == pytest.approx(excess, rel=1e-13)
    assert found.easy_entropy == 0
    # A strategy that is gone takes the whole guarantee with it, not the pass rate.
    assert (found.guarantee, found.easy_rate) == (0, pytest.approx(0.9))


def test_pass_at_k_takes_a_batch_and_several_k():
    batch = np.stack([TASK.base_law, COLLAPSED])
    curves = mean_pass_at_k(batch, TASK, np.array([1, 2, 16]))
    assert curves.shape == (2, 3)
    for column, k in enumerate((1, 2, 16)):
        np.testing.assert_array_equal(curves[:, column], mean_pass_at_k(batch, TASK, k))
    assert (np.diff(curves, axis=1) >= 0).all()


def test_a_batch_of_tasks_is_measured_each_with_its_own_weights():
    tasks = TASK._replace(
        weights=np.stack([TASK.weights, TASK.weights[::-1]]),
        base=np.stack([TASK.base, TASK.base]),
        hard_rate=np.stack([TASK.hard_rate, TASK.hard_rate]),
    )
    found = measure(tasks.base_law, tasks, 2)
    np.testing.assert_allclose(found.pass_at_1, [0.515, 0.2 * 0.9 + 0.045 + 0.05], rtol=1e-14)


def test_the_guarantee_holds_along_training_and_falls_with_the_strategies():
    run = train(TASK, None, np.array(0.0), np.array(0.1), Optimiser(0.5, 200, 8), np.arange(201))
    found = measure(run, TASK, 16)
    assert (found.guarantee <= found.easy_rate + 1e-15).all()
    assert (np.diff(found.guarantee) < 0).all()
    assert found.guarantee[-1] < 0.8 * found.guarantee[0]


@given(st.lists(st.floats(-30, 30), min_size=10, max_size=10))
def test_of_any_policy_the_bounds_hold(parameters):
    theta, phi, skill = np.split(np.array(parameters), [2, 8])
    outcomes = law(Policy(theta, phi.reshape(3, 2), skill), TASK, np.array(1.0)).outcomes
    found = measure(outcomes, TASK, 8)
    assert found.guarantee <= found.easy_rate + 1e-15
    assert found.excess_kl >= 0
    assert found.pass_at_1 <= found.pass_at_k + 1e-15
    assert 0 <= found.easy_entropy <= np.log(2) + 1e-15


STIFF_TASK = Config().task


def curvature(divergence, task, g, types):
    """The largest eigenvalue of the Hessian of sum_t w_t D_f at the base, by finite differences."""
    here = start(task, ())
    flat, shapes = np.concatenate([p.ravel() for p in here]), [p.shape for p in here]

    def value(vector):
        parts = np.split(vector, np.cumsum([np.prod(shape) for shape in shapes])[:-1])
        policy = Policy(*(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)))
        laws = law(policy, task, g).outcomes[types]
        return (task.weights[types] * divergence(laws, task.base_law[types])).sum()

    # At the base value and slope vanish: H_ij = D(h e_i + h e_j)/h^2 - H_ii/2 - H_jj/2, to first order.
    h, eye = 1e-4, np.eye(len(flat))
    both = np.array([[value(flat + h * (a + b)) + value(flat - h * (a + b)) for a in eye] for b in eye])
    apart = np.array([[value(flat + h * (a - b)) + value(flat - h * (a - b)) for a in eye] for b in eye])
    return np.linalg.eigvalsh((both - apart) / (4 * h * h))[-1]


@pytest.mark.parametrize("types", [EASY, ALL])
def test_the_curvature_is_that_of_the_penalty(types):
    task = random_tasks(1, 2, 0.9, np.random.default_rng(3))
    task = task._replace(weights=task.weights[0], base=task.base[0], hard_rate=task.hard_rate[0])
    g = np.array(0.6)
    for divergence in (FORWARD_KL, JENSEN_SHANNON):
        measured = curvature(divergence, task, g, types) / divergence.curvature
        assert largest_strength(task, g, types, 0.5) == pytest.approx(2 / (0.5 * measured), rel=1e-4)


@pytest.mark.parametrize("types", [EASY, ALL])
def test_below_it_a_strong_anchor_settles(types):
    anchor, g = Anchor(REVERSE_KL, everywhere=types == ALL), np.array(0.1)
    most = largest_strength(STIFF_TASK, g, types, 0.5)
    run = train(STIFF_TASK, anchor, np.asarray(0.9 * most), g, Optimiser(0.5, 400, 8), np.array([399, 400]))
    assert np.abs(np.diff(run, axis=0)).max() < 1e-3


def test_above_it_training_is_refused():
    g = np.array([0.1, 1.0])
    most = largest_strength(STIFF_TASK, g, ALL, 0.5)
    assert most[1] < most[0]
    # Jensen-Shannon has half the curvature, so twice the coefficient is as strong.
    eta = 2 * most * np.array([0.99, 1.01])
    anchor = Anchor(JENSEN_SHANNON, everywhere=True)
    with pytest.raises(ValueError, match=f"eta={eta[1]}"):
        train(STIFF_TASK, anchor, eta, g, Optimiser(0.5, 1, 8), np.array([0, 1]))
    train(STIFF_TASK, anchor, eta[:1], g[:1], Optimiser(0.5, 1, 8), np.array([0, 1]))


def test_tasks_and_conditionings_batch():
    tasks, g = random_tasks(3, 4, 0.9, np.random.default_rng(0)), np.array([[0.0], [0.5]])
    both = largest_strength(tasks, g, ALL, 0.5)
    assert both.shape == (2, 3)
    single = tasks._replace(weights=tasks.weights[1], base=tasks.base[1], hard_rate=tasks.hard_rate[1])
    assert both[1, 1] == pytest.approx(largest_strength(single, g[1, 0:1], ALL, 0.5)[0], rel=1e-12)


@pytest.mark.parametrize("group", [2, 3, 4])
def test_the_gradient_is_that_of_all_groups_enumerated(group):
    law, valid = np.array([0.3, 0.2, 0.4, 0.1]), np.array([0.0, 1, 0, 1])
    exact = np.zeros(4)
    for answers in product(range(4), repeat=group):
        chosen = list(answers)
        advantages = group_advantages(torch.tensor(valid[chosen])[None])[0].numpy()
        # d log P(y) / d logits = e_y - P.
        scores = np.eye(4)[chosen] - law
        exact += law[chosen].prod() * (advantages[:, None] * scores).mean(axis=0)
    rate = law @ valid
    np.testing.assert_allclose(group_gain(rate, group) * law * (valid - rate), exact, rtol=1e-12)


@given(st.just(0.0) | st.floats(1e-100, 1.0), st.integers(2, 40))
def test_it_is_the_weight_that_theory_gives_groups_of_the_population_deviation(p, group):
    np.testing.assert_allclose(group_gain(p, group), group_weight(group, p, "population_std"), rtol=1e-12)


def test_pairs_give_the_plain_gradient_and_large_groups_divide_by_the_deviation():
    p = np.linspace(0, 1, 11)
    np.testing.assert_allclose(group_gain(p, 2), 1, rtol=1e-15)
    inner = p[1:-1]
    np.testing.assert_allclose(group_gain(inner, 900), 1 / np.sqrt(inner * (1 - inner)), rtol=0.01)
    # So the factor is not that of the limit at the group's size in use.
    assert abs(group_gain(0.1, 8) * np.sqrt(0.09) - 1) > 0.1


def test_it_is_finite_where_all_pass_or_none_and_symmetric():
    # One success among G, of probability G p: G sqrt((G-1)/G^2) p / p.
    np.testing.assert_allclose(group_gain([0.0, 1.0], 8), np.sqrt(7), rtol=1e-14)
    p = np.linspace(0, 1, 9)
    np.testing.assert_allclose(group_gain(p, 8), group_gain(1 - p, 8), rtol=1e-13)


@pytest.mark.parametrize(("p", "group", "message"), [(1.1, 8, "rates=1.1"), (0.5, 1, "group=1")])
def test_other_arguments_are_refused(p, group, message):
    with pytest.raises(ValueError, match=message):
        group_gain(p, group)


CONFIG = Config()
SMALL_TASK, OPTIMISER = CONFIG.task, CONFIG.optimiser


def ends(anchor, eta, conditioning=0.1, optimiser=OPTIMISER, task=SMALL_TASK):
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
    moved = law(start(SMALL_TASK, ()), SMALL_TASK, g).outcomes
    after = train(SMALL_TASK, anchor, eta, g, one, np.array([0, 1]))
    np.testing.assert_allclose(after[0], moved, rtol=1e-14)

    def objective(policy):
        outcomes = law(policy, SMALL_TASK, g).outcomes
        return (
            SMALL_TASK.weights
            * (outcomes @ SMALL_TASK.valid - eta * JENSEN_SHANNON(outcomes, SMALL_TASK.base_law))
        ).sum()

    here, gradient = start(SMALL_TASK, ()), []
    for name in Policy._fields:
        values = getattr(here, name)
        slopes = np.zeros(values.shape)
        for index in np.ndindex(values.shape):
            change = np.zeros(values.shape)
            change[index] = 1e-6
            up, down = (objective(here._replace(**{name: values + s * change})) for s in (1, -1))
            slopes[index] = (up - down) / 2e-6
        gradient.append(values + slopes)
    np.testing.assert_allclose(after[1], law(Policy(*gradient), SMALL_TASK, g).outcomes, atol=1e-8)


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("divergence", [FORWARD_KL, REVERSE_KL, JENSEN_SHANNON, alpha_divergence(0.5)])
def test_the_anchor_s_pull_is_the_divergence_s_own_gradient(divergence, everywhere):
    rng = np.random.default_rng(0)
    policy = Policy(*(rng.normal(size=(3, *shape)) for shape in ((5,), (6, 5), (5,))))
    now, anchor = law(policy, SMALL_TASK, np.array(0.5)), Anchor(divergence, everywhere)
    expected = SMALL_TASK.weights[:, None] * divergence.gradient(now.outcomes, SMALL_TASK.base_law)
    np.testing.assert_allclose(anchor_pull(now, SMALL_TASK, anchor), expected[:, anchor.types], atol=1e-14)


def test_a_batch_trains_as_each_alone():
    short = Optimiser(0.5, 30, 8)
    eta, g = np.array([0.1, 1.0, 5.0]), np.array([[0.0], [0.3]])
    anchor, keep = Anchor(REVERSE_KL, everywhere=True), np.array([0, 7, 30])
    batch = train(SMALL_TASK, anchor, eta, g, short, keep)
    assert batch.shape == (3, 2, 3, 6, 10)
    for i, j in np.ndindex(2, 3):
        alone = train(SMALL_TASK, anchor, eta[j : j + 1], g[i], short, keep)
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
