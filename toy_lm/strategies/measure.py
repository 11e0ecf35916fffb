"""Measures of laws of outcomes: pass@k, the collapse meter, the rehearsal guarantee."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dph_theory import FORWARD_KL, exact_pass_at_k, excess_kl, filtered, rehearsal_guarantee
from dph_theory.coverage import entropy
from dph_theory.numeric.balls import Values, trailing

from .policy import pass_rates
from .task import EASY, Task


class Measures(NamedTuple):
    """Per policy, averaged over prompts unless it says the easy type."""

    pass_at_1: Values
    pass_at_k: Values
    excess_kl: Values
    easy_entropy: Values
    """The entropy of the strategies used on the easy type, in nats."""
    easy_rate: Values
    guarantee: Values
    """exp(-KL(p_* || pi)) on the easy type, the least pass rate that the rehearsal loss vouches for (C4)."""


def mean_pass_at_k(outcomes: np.ndarray, task: Task, k: int | np.ndarray) -> Values:
    """Pass@k averaged over prompts: outcomes (..., types, outcomes) give (...), with an array k (..., ks)."""
    rates = trailing(pass_rates(outcomes), np.ndim(k))
    hit = exact_pass_at_k(rates, k)
    return (trailing(task.weights, np.ndim(k)) * hit).sum(axis=-1 - np.ndim(k))


def measure(outcomes: Float[np.ndarray, "*batch types outcomes"], task: Task, k: int) -> Measures:
    """All measures of policies, from their laws of outcomes."""
    base, valid = task.base_law, task.valid
    easy, base_easy = outcomes[..., EASY, :][..., 0, :], base[..., EASY, :][..., 0, :]
    failed, passed = np.split(easy, 2, axis=-1)
    return Measures(
        mean_pass_at_k(outcomes, task, 1),
        mean_pass_at_k(outcomes, task, k),
        (task.weights * excess_kl(outcomes, base, valid).excess).sum(axis=-1),
        entropy(failed + passed),
        pass_rates(easy),
        rehearsal_guarantee(FORWARD_KL(easy, filtered(base_easy, valid))),
    )
