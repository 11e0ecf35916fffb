"""Exact measures on a task of a policy given by its next-token tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dph_theory.coverage import entropy, exact_pass_at_k
from dph_theory.stationary import policy_excess_kl, valid_answer_shares

from .tasks import EnumerableTask

Tables: TypeAlias = list[np.ndarray]  # Next-token tables of a policy, one per position.


@dataclass(frozen=True)
class ExactMeasures:
    """Exact measures of an enumerated policy; each is a mean over the task's rows unless noted."""

    pass_rate: tuple[float, ...]  # Per row.
    effective_answers: float  # exp of the entropy of the valid answers.
    excess_kl: float  # KL(pi || base) above the minimum at that pass rate.
    first_share: float  # P(first token is the first word | valid).
    favourite_share: float  # P(the base's likeliest valid answer | valid).
    pass_at_k: tuple[float, ...]  # At k in PASS_AT.


PASS_AT = (1, 4, 16)


def exact(task: EnumerableTask, tables: Sequence[np.ndarray], base: Sequence[np.ndarray]) -> ExactMeasures:
    """Measure a policy against the base; both are next-token tables (texts, V, ..., V) by position."""
    rows, base_rows = task.of_rows(tables), task.of_rows(base)
    rates = np.minimum(task.pass_rates(tables), 1.0)
    shares, base_shares = (
        valid_answer_shares(policy, task.valid, task.end).reshape(len(rates), -1)
        for policy in (rows, base_rows)
    )
    by_first = shares.reshape(len(shares), task.vocabulary, -1).sum(axis=2)
    favourite = base_shares.argmax(axis=1)[:, None]
    return ExactMeasures(
        pass_rate=tuple(rates.tolist()),
        effective_answers=float(np.exp(entropy(shares)).mean()),
        excess_kl=float(policy_excess_kl(rows, base_rows, task.valid, task.end).excess.mean()),
        first_share=float(by_first[:, 0].mean()),
        favourite_share=float(np.take_along_axis(shares, favourite, axis=1).mean()),
        pass_at_k=tuple(float(exact_pass_at_k(rates, np.asarray(k)).mean()) for k in PASS_AT),
    )
