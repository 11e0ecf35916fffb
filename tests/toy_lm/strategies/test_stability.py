import numpy as np
import pytest

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL
from toy_lm.strategies.config import Config
from toy_lm.strategies.policy import Policy, law, start
from toy_lm.strategies.stability import largest_strength
from toy_lm.strategies.task import ALL, EASY, random_tasks
from toy_lm.strategies.train import Anchor, Optimiser, train

TASK = Config().task


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
    most = largest_strength(TASK, g, types, 0.5)
    run = train(TASK, anchor, np.asarray(0.9 * most), g, Optimiser(0.5, 400, 8), np.array([399, 400]))
    assert np.abs(np.diff(run, axis=0)).max() < 1e-3


def test_above_it_training_is_refused():
    g = np.array([0.1, 1.0])
    most = largest_strength(TASK, g, ALL, 0.5)
    assert most[1] < most[0]
    # Jensen-Shannon has half the curvature, so twice the coefficient is as strong.
    eta = 2 * most * np.array([0.99, 1.01])
    anchor = Anchor(JENSEN_SHANNON, everywhere=True)
    with pytest.raises(ValueError, match=f"eta={eta[1]}"):
        train(TASK, anchor, eta, g, Optimiser(0.5, 1, 8), np.array([0, 1]))
    train(TASK, anchor, eta[:1], g[:1], Optimiser(0.5, 1, 8), np.array([0, 1]))


def test_tasks_and_conditionings_batch():
    tasks, g = random_tasks(3, 4, 0.9, np.random.default_rng(0)), np.array([[0.0], [0.5]])
    both = largest_strength(tasks, g, ALL, 0.5)
    assert both.shape == (2, 3)
    single = tasks._replace(weights=tasks.weights[1], base=tasks.base[1], hard_rate=tasks.hard_rate[1])
    assert both[1, 1] == pytest.approx(largest_strength(single, g[1, 0:1], ALL, 0.5)[0], rel=1e-12)
