"""Prompt types that share strategies: one easy type that all of them solve, hard types of one key each."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from dph_theory.numeric.arrays import distribution, rate
from dph_theory.support.errors import argument_error

EASY, ALL = slice(0, 1), slice(None)
"""The easy type, where the base is nearly always right, so the prompts of D_pef; and all types."""


class Task(NamedTuple):
    """Types E, H_1 .. H_S over S strategies: on E each succeeds at `easy_rate`, on H_j only strategy j.

    Outcomes of a prompt are pairs (strategy, failed or passed): the S failures first, then the S passes.
    Leading axes are a batch of tasks.
    """

    weights: Float[np.ndarray, "*batch types"]
    """The share of each type among the prompts."""
    base: Float[np.ndarray, "*batch strategies"]
    """The base's strategies, the same for every type."""
    easy_rate: float
    hard_rate: Float[np.ndarray, "*batch strategies"]
    """The rate at which strategy j starts to pass on H_j; this skill is learnt."""

    @property
    def valid(self) -> Bool[np.ndarray, " outcomes"]:
        """The verifier on outcomes."""
        return np.repeat([False, True], self.base.shape[-1])

    @property
    def base_law(self) -> Float[np.ndarray, "*batch types outcomes"]:
        """The base's law of outcomes on each type."""
        passes = success_rates(self.hard_rate, self.easy_rate)
        base = self.base[..., None, :]
        return np.concatenate([base * (1 - passes), base * passes], axis=-1)


def success_rates(skill: np.ndarray, easy_rate: float) -> Float[np.ndarray, "*batch types strategies"]:
    """The rate at which each strategy passes on each type: easy_rate, then the skills (..., S) diagonally."""
    hard = skill[..., None, :] * np.eye(skill.shape[-1])
    return np.concatenate([np.full_like(hard[..., :1, :], easy_rate), hard], axis=-2)


def task(weights: np.ndarray, base: np.ndarray, *, easy_rate: float, hard_rate: np.ndarray | float) -> Task:
    """A validated task: weights (..., 1 + S) and base (..., S) sum to one, rates lie in (0, 1).

    Raises ValueError that names what is wrong. Source: ours, theory D3.
    """
    weights, base = distribution("weights", weights), distribution("base", base)
    if weights.shape[-1] != base.shape[-1] + 1:
        raise argument_error(
            "weights.shape", weights.shape, f"one easy type and {base.shape[-1]} hard, one a strategy"
        )
    if (base == 0).any():
        raise argument_error("base", base, "every strategy needs some mass")
    rate("easy_rate", easy_rate)
    return Task(weights, base, float(easy_rate), np.broadcast_to(rate("hard_rate", hard_rate), base.shape))


def random_tasks(count: int, strategies: int, easy_rate: float, rng: np.random.Generator) -> Task:
    """Tasks with weights and base uniform on their simplices and starting skills uniform in (.1, .9)."""
    return task(
        rng.dirichlet(np.ones(strategies + 1), count),
        rng.dirichlet(np.ones(strategies), count),
        easy_rate=easy_rate,
        hard_rate=rng.uniform(0.1, 0.9, (count, strategies)),
    )
