"""The task: types of prompts that share strategies, and a policy over the strategies."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import expit, log_expit

from dph_theory.numeric.arrays import distribution, open_rate
from dph_theory.numeric.elementary import Values, logit
from dph_theory.support.errors import argument_error

EASY, ALL = slice(0, 1), slice(None)
"""The easy type, which the base nearly always solves (the prompts of D_pef); and all types."""


class StrategiesTask(NamedTuple):
    """Types E, H_1 .. H_S over S strategies: on E each succeeds at `easy_rate`, on H_j only strategy j.

    Outcomes of a prompt are pairs (strategy, failed or passed): the S failures first, then the S passes.
    Leading axes are a batch of tasks.
    """

    weights: Float[np.ndarray, "*batch types"]  # Share of each type among the prompts.
    base: Float[np.ndarray, "*batch strategies"]  # The base's strategies, shared by all types.
    easy_rate: float
    # Initial pass rate of strategy j on H_j; this skill is learnt.
    hard_rate: Float[np.ndarray, "*batch strategies"]

    @property
    def valid(self) -> Bool[np.ndarray, " outcomes"]:
        """Mask of the outcomes that pass."""
        return np.repeat([False, True], self.base.shape[-1])

    @property
    def base_distribution(self) -> Float[np.ndarray, "*batch types outcomes"]:
        """Base probabilities of outcomes on each type."""
        passes = success_rates(self.hard_rate, self.easy_rate)
        base = self.base[..., None, :]
        return np.concatenate([base * (1 - passes), base * passes], axis=-1)


def success_rates(skill: np.ndarray, easy_rate: float) -> Float[np.ndarray, "*batch types strategies"]:
    """Pass rate of each strategy on each type: easy_rate, then the skills (..., S) diagonally."""
    hard = skill[..., None, :] * np.eye(skill.shape[-1])
    return np.concatenate([np.full_like(hard[..., :1, :], easy_rate), hard], axis=-2)


def task(
    weights: np.ndarray, base: np.ndarray, *, easy_rate: float, hard_rate: np.ndarray | float
) -> StrategiesTask:
    """Build a validated task: weights (..., 1 + S) and base (..., S) sum to one, rates lie in (0, 1).

    Raises ValueError that names the bad argument. Source: ours, entries `falling_pass_at_k`.
    """
    weights, base = distribution("weights", weights), distribution("base", base)
    if weights.shape[-1] != base.shape[-1] + 1:
        allowed = f"one easy type and {base.shape[-1]} hard, one a strategy"
        raise argument_error("weights.shape", weights.shape, allowed)
    if (base == 0).any():
        raise argument_error("base", base, "every strategy needs some mass")
    open_rate("easy_rate", easy_rate)
    hard = np.broadcast_to(open_rate("hard_rate", hard_rate), base.shape)
    return StrategiesTask(weights, base, float(easy_rate), hard)


def random_tasks(count: int, strategies: int, easy_rate: float, rng: np.random.Generator) -> StrategiesTask:
    """Draw tasks with weights and base uniform on their simplices and initial skills uniform in (.1, .9)."""
    weights, base = (rng.dirichlet(np.ones(size), count) for size in (strategies + 1, strategies))
    hard_rate = rng.uniform(0.1, 0.9, (count, strategies))
    return task(weights, base, easy_rate=easy_rate, hard_rate=hard_rate)


class StrategiesPolicy(NamedTuple):
    """Trained parameters, one policy per batch entry."""

    theta: Float[np.ndarray, "*batch strategies"]  # Logits that all types share.
    # Each type's own logits, which act through the conditioning g.
    phi: Float[np.ndarray, "*batch types strategies"]
    skill: Float[np.ndarray, "*batch strategies"]  # Log odds that strategy j passes on H_j.


class PolicyOutcomes(NamedTuple):
    """Outcome probabilities of a policy on each type of prompt."""

    outcomes: Float[np.ndarray, "*batch types outcomes"]
    log_ratio: Float[np.ndarray, "*batch types outcomes"]
    """log(pi/base), computed from logarithms; 0 for outcomes that are impossible under both."""


def pass_rates(outcomes: Float[np.ndarray, "*batch outcomes"]) -> Values:
    """Pass rate (...), the mass of the second half of the outcomes, which are those that pass."""
    # Rounding may push a sum of masses an ulp above one.
    return np.minimum(outcomes[..., outcomes.shape[-1] // 2 :].sum(axis=-1), 1.0)


def start(task: StrategiesTask, shape: tuple[int, ...]) -> StrategiesPolicy:
    """Policy equal to the base, repeated for each entry of a batch of that shape."""
    strategies = task.base.shape[-1]
    return StrategiesPolicy(
        np.broadcast_to(np.log(task.base), (*shape, strategies)),
        np.zeros((*shape, strategies + 1, strategies)),
        np.broadcast_to(logit(task.hard_rate), (*shape, strategies)),
    )


def policy_outcomes(
    policy: StrategiesPolicy, task: StrategiesTask, conditioning: Float[np.ndarray, "*#batch"]
) -> PolicyOutcomes:
    """Outcome probabilities on each type and log-ratio to the base's; strategies' logits are theta + g phi.

    g is `conditioning`, how far a strategy may depend on the type.
    """
    logits = policy.theta[..., None, :] + conditioning[..., None, None] * policy.phi
    logits = logits - logits.max(axis=-1, keepdims=True)
    log_pi = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    moved = log_pi - np.log(task.base)[..., None, :]
    first = logit(task.hard_rate)
    failing, passing = (
        # None on the easy type, whose rate is constant.
        moved + success_rates(log_expit(sign * policy.skill) - log_expit(sign * first), 0.0)
        for sign in (-1, 1)
    )
    passes = success_rates(expit(policy.skill), task.easy_rate)
    pi = np.exp(log_pi)
    outcomes = np.concatenate([pi * (1 - passes), pi * passes], axis=-1)
    ratio = np.concatenate([failing, np.where(passes > 0, passing, 0.0)], axis=-1)
    return PolicyOutcomes(outcomes, ratio)


def step_along(
    policy: StrategiesPolicy, gradient: np.ndarray, conditioning: np.ndarray, size: float
) -> StrategiesPolicy:
    """Step of length `size` along a gradient in the logits of the outcomes, P_y (F_y - E_P F).

    The logit of pair (s, passed) is log pi(s|t) + log c, of (s, failed) log pi(s|t) + log(1-c): by the chain
    rule each strategy's logit collects both of its outcomes, and its skill (1-c) passed - c failed.
    """
    failed, passed = np.split(gradient, 2, axis=-1)
    strategy = failed + passed
    hard = np.arange(policy.skill.shape[-1])
    c = expit(policy.skill)
    own = (1 - c) * passed[..., hard + 1, hard] - c * failed[..., hard + 1, hard]
    return StrategiesPolicy(
        policy.theta + size * strategy.sum(axis=-2),
        policy.phi + size * conditioning[..., None, None] * strategy,
        policy.skill + size * own,
    )
