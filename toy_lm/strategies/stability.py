"""How strong an anchor may be before explicit gradient steps overshoot it."""

import numpy as np
from jaxtyping import Float

from dph_theory.numeric.balls import Values

from .task import Task


def largest_strength(
    task: Task, conditioning: Float[np.ndarray, "*#batch"], types: slice, learning_rate: float
) -> Values:
    """The strength eta f''(1) above which steps of that learning rate oscillate about the base.

    Near the base eta sum_t w_t D_f is eta f''(1)/2 times a quadratic form, the Fisher information F over the
    anchored types, and a step multiplies the distance by 1 - r eta f''(1) lambda: it shrinks iff
    eta f''(1) < 2/(r lambda_max). At the base F has two blocks, since a skill's score has mean 0 given the
    strategy: w_t base_j c_j (1-c_j) for the skills, and for (theta, phi) the Kronecker product of
    sum_t w_t (1, g e_t)(1, g e_t)' with diag(base) - base base', whose largest eigenvalues multiply.
    conditioning is g, of the batch's shape, which is the result's. Source: ours, theory B9.
    """
    weights = np.zeros(task.weights.shape)
    weights[..., types] = task.weights[..., types]
    base, c = task.base, task.hard_rate
    skills = (weights[..., 1:] * base * c * (1 - c)).max(axis=-1)
    covariance = base[..., None] * np.eye(base.shape[-1]) - base[..., :, None] * base[..., None, :]
    shared = _sharing(weights, conditioning)
    strategies = np.linalg.eigvalsh(shared)[..., -1] * np.linalg.eigvalsh(covariance)[..., -1]
    return 2 / (learning_rate * np.maximum(skills, strategies))


def _sharing(weights: np.ndarray, g: np.ndarray) -> Float[np.ndarray, "*batch both both"]:
    """The sum of w_t (1, g e_t)(1, g e_t)': how one logit is shared and owned."""
    types = weights.shape[-1]
    # Row t of [1 | g I] is (1, g e_t).
    own = g[..., None, None] * np.eye(types)
    rows = np.concatenate([np.ones((*own.shape[:-1], 1)), own], axis=-1)
    return rows.swapaxes(-1, -2) @ (weights[..., None] * rows)
