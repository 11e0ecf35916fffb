"""Training by the exact expected gradient: reward, group-normalised or not, less a penalty to the base."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from dph_theory.fdivergence import FDivergence
from dph_theory.numeric.arrays import first
from dph_theory.support.errors import argument_error

from .grpo import group_gain
from .policy import Law, law, pass_rates, start, step_along
from .stability import largest_strength
from .task import ALL, EASY, Task


class Anchor(NamedTuple):
    """What holds the policy to the base: D_f(pi || base) on the prompts of D_pef, or on all of them."""

    divergence: FDivergence
    everywhere: bool

    @property
    def types(self) -> slice:
        """The types of prompts on which it acts."""
        return ALL if self.everywhere else EASY


class Optimiser(NamedTuple):
    """Gradient ascent on sum_t w_t (reward_t - eta D_t); `group` is the group's size, None for plain E v."""

    learning_rate: float
    steps: int
    group: int | None


def train(
    task: Task,
    anchor: Anchor | None,
    eta: Float[np.ndarray, "*#batch"],
    conditioning: Float[np.ndarray, "*#batch"],
    optimiser: Optimiser,
    keep: Int[np.ndarray, " times"],
) -> Float[np.ndarray, "times *batch types outcomes"]:
    """Train a batch of policies from the base: their laws of outcomes at the steps `keep`, rising from 0.

    eta >= 0 weighs the anchor and conditioning is g; their shapes and the task's batch broadcast. Each type's
    term counts with its share of the prompts, that of the anchor too. Raises ValueError for an eta so large
    that the steps would overshoot (`largest_strength`).
    """
    if anchor is not None:
        most = largest_strength(task, conditioning, anchor.types, optimiser.learning_rate)
        bad = eta * anchor.divergence.curvature >= most
        if bad.any():
            raise argument_error(
                "eta", first(eta, bad), f"eta f''(1) below {most.min():.4g}, or the steps overshoot"
            )
    batch = np.broadcast_shapes(eta.shape, conditioning.shape, task.base.shape[:-1])
    policy, kept, wanted = start(task, batch), [], set(keep.tolist())
    for step in range(optimiser.steps + 1):
        now = law(policy, task, conditioning)
        if step in wanted:
            kept.append(now.outcomes)
        pull = reward_pull(now, task, optimiser.group)
        if anchor is not None:
            pull[..., anchor.types, :] -= eta[..., None, None] * anchor_pull(now, task, anchor)
        policy = step_along(policy, pull, now, conditioning, optimiser.learning_rate)
    return np.stack(kept)


def reward_pull(now: Law, task: Task, group: int | None) -> Float[np.ndarray, "*batch types outcomes"]:
    """The reward's gradient in the logits of the outcomes, w_t h(p_t) P_y (v_y - p_t); h = 1 if plain."""
    p = pass_rates(now.outcomes)
    gain = task.weights if group is None else task.weights * group_gain(p, group)
    return gain[..., None] * now.outcomes * (task.valid - p[..., None])


def anchor_pull(now: Law, task: Task, anchor: Anchor) -> Float[np.ndarray, "*batch types outcomes"]:
    """The gradient w_t P_y (f'(u_y) - E f'(u)) of the divergence, on the types where the anchor acts."""
    types = anchor.types
    pi, base = now.outcomes[..., types, :], task.base_law[..., types, :]
    # P f'(u) = base u f'(u), and u f'(u) is the slope of f in log u; what is impossible has base 0.
    slope = base * anchor.divergence.on_log_ratio(now.log_ratio[..., types, :]).derivative
    return task.weights[..., types, None] * (slope - pi * slope.sum(axis=-1, keepdims=True))
