"""The updates of the published methods as formulas of a batch: `Samples` and a knob to coefficients.

A formula gives what multiplies grad log pi of each sampled answer, (..., groups, G), or of each token.
"""

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import torch

from ..audit.advantage import AdvantageError, ByCount, tabulate
from ..fdivergence import FDivergence
from ..trainers import advantages as published

GROUP = 4
"""Answers of a group."""


class GroupBatch(NamedTuple):
    """Batches of groups: axes of batches, groups, answers, then tokens (0 where there are none).

    answers: which one of the problem's, (..., groups, G). weights: of each group in its batch, sum 1.
    """

    answers: np.ndarray
    rewards: np.ndarray
    log_pi: np.ndarray
    log_base: np.ndarray
    counted: np.ndarray
    weights: np.ndarray

    def mean(self, values: np.ndarray) -> np.ndarray:
        """The batch's mean of what each answer has, (..., 1, 1)."""
        return (values.mean(axis=-1) * self.weights).sum(axis=-1)[..., None, None]

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each answer."""
        return self.counted.sum(axis=-1)

    @property
    def per_token(self) -> np.ndarray:
        """The mean of the tokens' log pi of each answer."""
        mean: np.ndarray = self.log_pi.sum(axis=-1) / self.lengths
        return mean


Formula = Callable[[GroupBatch, float], np.ndarray]
"""(samples, knob) -> (..., groups, G), or with a last axis of tokens."""
StoredTerm = Callable[[Any, np.ndarray, float], np.ndarray]
"""(an atlas problem, log pi of answers' tokens, knob) -> what multiplies each token's grad log pi, in sum."""


def _quotient(top: np.ndarray, below: np.ndarray) -> np.ndarray:
    """The quotient, zero where the denominator is, up to rounding."""
    return np.where(below > 1e-12, top / np.where(below > 1e-12, below, 1.0), 0.0)


def of_rewards(advantage: Callable[..., Any]) -> Formula:
    """An advantage of rewards (groups, G), as `dph audit advantage` takes it, by its table for each count.

    One that also takes log_pi or log_ref, the whole answers' (groups, G), is called on every batch.
    AdvantageError for one that fails, or is not finite somewhere.
    """
    names = set(signature(advantage).parameters) & {"log_pi", "log_ref"}
    if names:
        return partial(_called, advantage, names)
    table = tabulate(advantage, GROUP)
    if table.bad:
        raise AdvantageError(f"it is not finite in groups with {', '.join(map(str, table.bad))} right")
    return partial(_tabulated, table)


def _tabulated(table: ByCount, samples: GroupBatch, knob: float) -> np.ndarray:
    k = samples.rewards.sum(axis=-1, keepdims=True).astype(int)
    return np.where(samples.rewards > 0, table.right[k], table.wrong[k])


def _called(advantage: Callable[..., Any], names: set[str], samples: GroupBatch, knob: float) -> np.ndarray:
    values = {"log_pi": samples.log_pi.sum(axis=-1), "log_ref": samples.log_base.sum(axis=-1)}
    shape = (samples.rewards.size // GROUP, GROUP)
    arguments = {name: torch.from_numpy(values[name].reshape(shape).copy()) for name in names}
    try:
        advantages = advantage(torch.from_numpy(samples.rewards.reshape(shape).copy()), **arguments)
    except Exception as error:
        raise AdvantageError(f"it raised {type(error).__name__}: {error}") from error
    if isinstance(advantages, torch.Tensor):
        advantages = advantages.detach()
    numbers = np.asarray(advantages, dtype=float)
    if numbers.shape != shape:
        raise AdvantageError(f"it returned {numbers.shape} for rewards {shape}")
    if not np.isfinite(numbers).all():
        raise AdvantageError("it returned a number that is not finite")
    return numbers.reshape(samples.rewards.shape)


GROUPED = of_rewards(published.sample_deviation)


def _centred(values: np.ndarray) -> np.ndarray:
    return values - values.mean(axis=-1, keepdims=True)


DEVIATION = 1e-2
"""Added to deviations of rewards that are not whole numbers, so that their updates are continuous."""


def normalised(values: np.ndarray) -> np.ndarray:
    """Less the group's mean, over its sample std and DEVIATION."""
    return _centred(values) / (values.std(axis=-1, ddof=1, keepdims=True) + DEVIATION)


def leave_one_out(values: np.ndarray) -> np.ndarray:
    """Less the mean of the others of the group."""
    return _centred(values) * GROUP / (GROUP - 1)


def batch_normalised(samples: GroupBatch, knob: float) -> np.ndarray:
    """The reward less the batch's mean, over its deviation."""
    away = samples.rewards - samples.mean(samples.rewards)
    return _quotient(away, np.sqrt(samples.mean(away**2)))


def dynamic_sampling(samples: GroupBatch, knob: float) -> np.ndarray:
    """GRPO's, on groups that do not agree, as many as the batch has."""
    mixed = samples.rewards.std(axis=-1, keepdims=True) > 0
    mixed_share = samples.mean(mixed + 0 * samples.rewards)
    return GROUPED(samples, knob) / np.maximum(mixed_share, 1e-12)


def weighted(right: float, wrong: float, samples: GroupBatch, knob: float) -> np.ndarray:
    """One number if right, another if wrong."""
    return np.where(samples.rewards > 0, right, wrong)


def focal(samples: GroupBatch, knob: float) -> np.ndarray:
    """GRPO's, times 1 - m, m the group's mean."""
    return GROUPED(samples, knob) * (1 - samples.rewards.mean(axis=-1, keepdims=True))


Cost = Callable[[GroupBatch], np.ndarray]
"""samples -> what each token costs, (..., tokens)."""


def log_pi(samples: GroupBatch) -> np.ndarray:
    """log pi: its cost is an entropy bonus."""
    return samples.log_pi


def log_u(samples: GroupBatch) -> np.ndarray:
    """log(pi/base)."""
    return samples.log_pi - samples.log_base


def log_u_to_go(samples: GroupBatch) -> np.ndarray:
    """log(pi/base) of the token and of those that follow."""
    return np.flip(np.flip(log_u(samples), -1).cumsum(axis=-1), -1)


def forward(samples: GroupBatch) -> np.ndarray:
    """1 - 1/u, the slope of k3."""
    return -np.expm1(-log_u(samples))


def rloo(samples: GroupBatch, knob: float) -> np.ndarray:
    """The reward less the mean of the others."""
    return leave_one_out(samples.rewards)


def in_the_loss(advantage: Formula, cost: Cost, samples: GroupBatch, knob: float) -> np.ndarray:
    """The advantage less knob times each token's cost."""
    return advantage(samples, knob)[..., None] - knob * cost(samples)


def in_the_reward(
    scaled: Callable[[np.ndarray], np.ndarray], cost: Cost, samples: GroupBatch, knob: float
) -> np.ndarray:
    """The reward less knob times the answer's cost, scaled in its group."""
    return scaled(samples.rewards - knob * cost(samples).sum(axis=-1))


TIED = 0.1
"""Answers whose mean log-probabilities are nearer than that, in nats, have partly shared ranks."""


def shaped(factor: Callable[[GroupBatch], np.ndarray], samples: GroupBatch, knob: float) -> np.ndarray:
    """GRPO's of the reward times a factor."""
    return normalised(samples.rewards * factor(samples))


def by_rank(samples: GroupBatch) -> np.ndarray:
    """1 - .25 rank/G, rank 0 for the least likely of the group by the mean of its tokens' log pi."""
    mean = samples.per_token
    gaps = (mean[..., :, None] - mean[..., None, :]) / TIED
    return 1 - 0.25 * (np.clip(gaps / 2 + 0.5, 0, 1).sum(axis=-1) - 0.5) / GROUP


def by_cluster(samples: GroupBatch) -> np.ndarray:
    """One over how many of the group are the same answer, itself counted."""
    return 1 / (samples.answers[..., :, None] == samples.answers[..., None, :]).sum(axis=-1)


def by_difference(samples: GroupBatch) -> np.ndarray:
    """1 + .2 d, d the share of the others that differ."""
    return 1 + 0.2 * (GROUP - 1 / by_cluster(samples)) / (GROUP - 1)


def uniqueness(samples: GroupBatch, knob: float) -> np.ndarray:
    """GRPO's advantage over the size of the answer's cluster; here a cluster is an answer."""
    return GROUPED(samples, knob) * by_cluster(samples)


def ucpo(tau: float, samples: GroupBatch, knob: float) -> np.ndarray:
    """GRPO's, redistributed among the group's correct answers: each gets 1 - tau + tau n w, w ~ 1/q.

    q ~ e^m of the n correct ones, m the mean of their tokens' log pi.
    """
    mean = samples.per_token
    inverse = samples.rewards * np.exp(-(mean - mean.max(axis=-1, keepdims=True)))
    n = samples.rewards.sum(axis=-1, keepdims=True)
    share = _quotient(inverse, inverse.sum(axis=-1, keepdims=True))
    return GROUPED(samples, knob) * np.where(samples.rewards > 0, 1 - tau + tau * n * share, 1.0)


def ucpo_added(tau: float, samples: GroupBatch, knob: float) -> np.ndarray:
    """GRPO's, and tau (-log q - H(q)) more if right."""
    mean = samples.per_token
    q = samples.rewards * np.exp(mean - mean.max(axis=-1, keepdims=True))
    q = _quotient(q, q.sum(axis=-1, keepdims=True))
    surprise = -np.log(np.where(q > 0, q, 1.0))
    bonus = surprise - (q * surprise).sum(axis=-1, keepdims=True)
    return GROUPED(samples, knob) + tau * samples.rewards * bonus


def polychromic(samples: GroupBatch, knob: float) -> np.ndarray:
    """The group's mean reward times its share of different answers, less the batch's mean of that."""
    different = by_cluster(samples).sum(axis=-1, keepdims=True) / GROUP
    score = samples.rewards.mean(axis=-1, keepdims=True) * different + 0 * samples.rewards
    return score - samples.mean(score)


def clip_cov(samples: GroupBatch, knob: float) -> np.ndarray:
    """GRPO's without the tokens whose (A - mean A)(log pi - mean log pi) is between 1 and 5."""
    a = GROUPED(samples, knob)[..., None] + 0 * samples.log_pi
    count = samples.mean(samples.lengths)[..., None]
    means = [
        (samples.mean((x * samples.counted).sum(axis=-1)))[..., None] / count for x in (a, samples.log_pi)
    ]
    covariance = (a - means[0]) * (samples.log_pi - means[1])
    return np.where((covariance > 1) & (covariance < 5), 0.0, a)


def dpg(alpha: float, samples: GroupBatch, knob: float) -> np.ndarray:
    """((p_*/pi)^alpha - 1)/alpha less the mean of the others."""
    # The base's pass rate and the constants are a factor of time, and part of what is subtracted.
    return leave_one_out(samples.rewards * np.exp(-alpha * log_u(samples).sum(axis=-1)) / alpha)


def replay(problem: Any, log_pi: np.ndarray, knob: float) -> np.ndarray:
    """-knob times the mean of -log pi over the correct answers that the run has found, each stored once.

    Without noise a run finds every correct answer; how often it found one is not stored.
    """
    weights = problem.verdicts / problem.verdicts.sum()
    return knob * weights[..., None] + 0 * log_pi


def rehearsal(divergence: FDivergence, problem: Any, log_pi: np.ndarray, knob: float) -> np.ndarray:
    """-knob E_{p_*} f(u) of whole answers, u = pi/a, f as printed."""
    target = problem.answers(problem.start) * problem.verdicts
    log_u = (log_pi - problem.log_policy(problem.start)).sum(axis=-1)
    slope = divergence.on_log_ratio(log_u).derivative
    return -knob * (target / target.sum() * slope)[..., None] + 0 * log_pi
