"""A policy over strategies shared by prompt types, pi(s|t) = softmax(theta_s + g phi_ts), with its skills."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit, log_expit

from dph_theory.numeric.balls import Values, logit

from .task import Task, success_rates


class Policy(NamedTuple):
    """The trained parameters, one policy a batch entry."""

    theta: Float[np.ndarray, "*batch strategies"]
    """Logits that all types share."""
    phi: Float[np.ndarray, "*batch types strategies"]
    """Logits of each type's own, which act only through the conditioning g."""
    skill: Float[np.ndarray, "*batch strategies"]
    """Log odds that strategy j passes on H_j."""


class Law(NamedTuple):
    """What a policy does on each type of prompt."""

    outcomes: Float[np.ndarray, "*batch types outcomes"]
    log_ratio: Float[np.ndarray, "*batch types outcomes"]
    """log(pi/base), formed from logarithms; 0 for outcomes that are impossible under both."""
    skill: Float[np.ndarray, "*batch strategies"]
    """The rate at which strategy j passes on H_j."""


def pass_rates(outcomes: Float[np.ndarray, "*batch outcomes"]) -> Values:
    """The mass of the passes, the second half of the outcomes."""
    # Rounding may lift a sum of masses an ulp above one.
    return np.minimum(outcomes[..., outcomes.shape[-1] // 2 :].sum(axis=-1), 1.0)


def start(task: Task, shape: tuple[int, ...]) -> Policy:
    """The base itself, once for each entry of the batch `shape`."""
    strategies = task.base.shape[-1]
    return Policy(
        np.broadcast_to(np.log(task.base), (*shape, strategies)),
        np.zeros((*shape, strategies + 1, strategies)),
        np.broadcast_to(logit(task.hard_rate), (*shape, strategies)),
    )


def law(policy: Policy, task: Task, conditioning: Float[np.ndarray, "*#batch"]) -> Law:
    """The law of outcomes on each type, and its log ratio to the base's; conditioning is g, of the batch."""
    logits = policy.theta[..., None, :] + conditioning[..., None, None] * policy.phi
    logits = logits - logits.max(axis=-1, keepdims=True)
    log_pi = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    moved = log_pi - np.log(task.base)[..., None, :]
    first = logit(task.hard_rate)
    failing, passing = (
        # None on the easy type, whose rate stays.
        moved + success_rates(log_expit(sign * policy.skill) - log_expit(sign * first), 0.0)
        for sign in (-1, 1)
    )
    passes = success_rates(expit(policy.skill), task.easy_rate)
    pi = np.exp(log_pi)
    outcomes = np.concatenate([pi * (1 - passes), pi * passes], axis=-1)
    ratio = np.concatenate([failing, np.where(passes > 0, passing, 0.0)], axis=-1)
    return Law(outcomes, ratio, expit(policy.skill))


def step_along(policy: Policy, pull: np.ndarray, at: Law, conditioning: np.ndarray, size: float) -> Policy:
    """One step of that size along a gradient given in the logits of the outcomes, P_y (F_y - E_P F).

    The logit of pair (s, passed) is log pi(s|t) + log c, of (s, failed) log pi(s|t) + log(1-c): by the chain
    rule each strategy's logit collects both of its outcomes, and its skill (1-c) passed - c failed.
    """
    failed, passed = np.split(pull, 2, axis=-1)
    strategy = failed + passed
    hard = np.arange(policy.skill.shape[-1])
    c = at.skill
    own = (1 - c) * passed[..., hard + 1, hard] - c * failed[..., hard + 1, hard]
    return Policy(
        policy.theta + size * strategy.sum(axis=-2),
        policy.phi + size * conditioning[..., None, None] * strategy,
        policy.skill + size * own,
    )
