"""Exact training of a shared policy: GRPO's gradient, stable steps, and measures along the way."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from dph_theory import exact_pass_at_k
from dph_theory.coverage import entropy
from dph_theory.fdivergence import FDivergence
from dph_theory.numeric.arrays import first_bad
from dph_theory.numeric.elementary import Values, add_axes
from dph_theory.stationary import group_weight
from dph_theory.support.errors import argument_error

from ..measure import retained_of_base
from .task import ALL, EASY, PolicyOutcomes, StrategiesTask, pass_rates, policy_outcomes, start, step_along


class Measures(NamedTuple):
    """Measures per policy, averaged over prompts except for the fields `easy_...`."""

    pass_at_1: Values
    pass_at_k: Values
    excess_kl: Values
    easy_entropy: Values  # Entropy of the strategies on the easy type, in nats.
    easy_rate: Values
    guarantee: Values
    """Guaranteed pass rate exp(-KL(p_* || pi)) of the rehearsal loss, on the easy type."""


def mean_pass_at_k(outcomes: np.ndarray, task: StrategiesTask, k: int | np.ndarray) -> Values:
    """Pass@k averaged over prompts: outcomes (..., types, outcomes) give (...), with an array k (..., ks)."""
    rates = add_axes(pass_rates(outcomes), np.ndim(k))
    hit = exact_pass_at_k(rates, k)
    return (add_axes(task.weights, np.ndim(k)) * hit).sum(axis=-1 - np.ndim(k))


def measure(outcomes: Float[np.ndarray, "*batch types outcomes"], task: StrategiesTask, k: int) -> Measures:
    """Measure policies from their outcome probabilities, with Pass@k at this k; shapes *batch."""
    easy, retained = outcomes[..., 0, :], retained_of_base(outcomes, task.base_distribution, task.valid)
    failed, passed = np.split(easy, 2, axis=-1)
    return Measures(
        mean_pass_at_k(outcomes, task, 1),
        mean_pass_at_k(outcomes, task, k),
        (task.weights * retained.excess).sum(axis=-1),
        entropy(failed + passed),
        pass_rates(easy),
        retained.guarantee[..., 0],
    )


def largest_strength(
    task: StrategiesTask, conditioning: Float[np.ndarray, "*#batch"], types: slice, learning_rate: float
) -> Values:
    """Strength eta f''(1) above which steps of that learning rate oscillate about the base.

    Near the base eta sum_t w_t D_f is eta f''(1)/2 times a quadratic form, the Fisher information F over the
    anchored types, and a step multiplies the distance by 1 - r eta f''(1) lambda: it shrinks iff eta f''(1) <
    2/(r lambda_max). At the base F has two blocks, because a skill's score has mean 0 given the strategy: w_t
    base_j c_j (1-c_j) for the skills, and for (theta, phi) the Kronecker product of sum_t w_t (1, g e_t)(1, g
    e_t)' with diag(base) - base base', whose largest eigenvalues multiply. conditioning is g, of the batch's
    shape, which is the result's. Source: ours, entries `forms_and_curvature`.
    """
    weights = np.zeros_like(task.weights)
    weights[..., types] = task.weights[..., types]
    base, c = task.base, task.hard_rate
    skills = (weights[..., 1:] * base * c * (1 - c)).max(axis=-1)
    covariance = base[..., None] * np.eye(base.shape[-1]) - base[..., :, None] * base[..., None, :]
    # Row t of [1 | g I] is (1, g e_t).
    own = conditioning[..., None, None] * np.eye(weights.shape[-1])
    rows = np.concatenate([np.ones_like(own[..., :1]), own], axis=-1)
    shared = rows.swapaxes(-1, -2) @ (weights[..., None] * rows)
    strategies = np.linalg.eigvalsh(shared)[..., -1] * np.linalg.eigvalsh(covariance)[..., -1]
    return 2 / (learning_rate * np.maximum(skills, strategies))


class Anchor(NamedTuple):
    """Regulariser to the base: D_f(pi || base) on the prompts of D_pef, or on all prompts."""

    divergence: FDivergence
    everywhere: bool

    @property
    def types(self) -> slice:
        """Types of prompts on which the anchor acts."""
        return ALL if self.everywhere else EASY


class Optimiser(NamedTuple):
    """Gradient ascent on sum_t w_t (reward_t - eta D_t); `group` is the group's size."""

    learning_rate: float
    steps: int
    group: int


def train(
    task: StrategiesTask,
    anchor: Anchor | None,
    eta: Float[np.ndarray, "*#batch"],
    conditioning: Float[np.ndarray, "*#batch"],
    optimiser: Optimiser,
    recorded: Int[np.ndarray, " times"],
) -> Float[np.ndarray, "times *batch types outcomes"]:
    """Train policies from the base; returns outcome probabilities at the steps `recorded`, increasing from 0.

    eta >= 0 weighs the anchor and conditioning is g; their shapes and the task's batch broadcast. Each type's
    term, and its anchor, is weighted by its share of the prompts. Raises ValueError for an eta at which steps
    would overshoot (`largest_strength`).
    """
    if anchor is not None:
        most = largest_strength(task, conditioning, anchor.types, optimiser.learning_rate)
        bad = eta * anchor.divergence.curvature >= most
        if bad.any():
            allowed = f"eta f''(1) below {most.min():.4g}, or the steps overshoot"
            raise argument_error("eta", first_bad(eta, bad), allowed)
    batch = np.broadcast_shapes(eta.shape, conditioning.shape, task.base.shape[:-1])
    policy, course = start(task, batch), []
    for step in range(optimiser.steps + 1):
        current = policy_outcomes(policy, task, conditioning)
        if step in recorded:
            course.append(current.outcomes)
        gradient = reward_gradient(current, task, optimiser.group)
        if anchor is not None:
            gradient[..., anchor.types, :] -= eta[..., None, None] * anchor_gradient(current, task, anchor)
        policy = step_along(policy, gradient, conditioning, optimiser.learning_rate)
    return np.stack(course)


def reward_gradient(
    current: PolicyOutcomes, task: StrategiesTask, group: int
) -> Float[np.ndarray, "*batch types outcomes"]:
    """Gradient of the reward in the logits of the outcomes, w_t alpha_G(p_t) P_y (v_y - p_t).

    alpha_G is the weight of rewards over the population std of their group. Entries: `group_advantages`; the
    advantage: shao2024grpo.
    """
    p = pass_rates(current.outcomes)
    gain = task.weights * group_weight(group, p, "population_std")
    return gain[..., None] * current.outcomes * (task.valid - p[..., None])


def anchor_gradient(
    current: PolicyOutcomes, task: StrategiesTask, anchor: Anchor
) -> Float[np.ndarray, "*batch types outcomes"]:
    """Gradient w_t P_y (f'(u_y) - E f'(u)) of the divergence, on the types where the anchor acts."""
    types = anchor.types
    pi, base = current.outcomes[..., types, :], task.base_distribution[..., types, :]
    # P f'(u) = base u f'(u), where u f'(u) is the slope of f in log u; impossible outcomes have base 0.
    slope = base * anchor.divergence.on_log_ratio(current.log_ratio[..., types, :]).derivative
    return task.weights[..., types, None] * (slope - pi * slope.sum(axis=-1, keepdims=True))
