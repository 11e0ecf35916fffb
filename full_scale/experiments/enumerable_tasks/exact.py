"""A model's exact probabilities of short answers, from one forward pass over all prefixes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from dph_theory.coverage import entropy, exact_pass_at_k
from dph_theory.stationary import policy_excess_kl, valid_answer_shares

from ...models.generation import evaluating
from .tasks import EnumerableTask, check_size

Tables: TypeAlias = list[np.ndarray]
"""A policy's next-token tables, one a position."""


def longest_prefixes(prompts: np.ndarray, vocabulary: int, length: int) -> Int[Tensor, "rows tokens"]:
    """Every text followed by every length-1 tokens: (texts * V^(length-1), prompt tokens + length - 1).

    `prompts` (texts, prompt tokens). ValueError where there are too many answers to enumerate.
    """
    check_size(len(prompts), vocabulary, length)
    prefixes = np.indices((vocabulary,) * (length - 1)).reshape(length - 1, vocabulary ** (length - 1)).T
    rows = [np.broadcast_to(text, (len(prefixes), len(text))) for text in prompts]
    pairs = [np.concatenate([row, prefixes], axis=1) for row in rows]
    return torch.from_numpy(np.concatenate(pairs)).long()


def next_token_log_probs(
    model: Any, rows: Int[Tensor, "rows tokens"], texts: int, vocabulary: int, length: int
) -> list[Tensor]:
    """Table t, (texts, V, ..., V) with t+1 trailing axes: log-probabilities of token t given those before.

    `rows` are the `longest_prefixes`: a causal model's tables of shorter prefixes are in the same pass.
    """
    logits = model(input_ids=rows).logits[:, rows.shape[1] - length :].float()
    log_probs = logits.log_softmax(dim=-1).unflatten(0, (texts, *[vocabulary] * (length - 1)))
    return [log_probs[(slice(None),) * (t + 1) + (0,) * (length - 1 - t) + (t,)] for t in range(length)]


def next_token_tables(model: Any, task: EnumerableTask) -> Tables:
    """The model's next-token tables on a task's texts, float64; the model is left as it was."""
    rows = longest_prefixes(task.prompt_ids, task.vocabulary, task.length)
    with evaluating(model):
        log_probs = next_token_log_probs(model, rows, len(task.prompt_ids), task.vocabulary, task.length)
    tables = [table.double().exp().numpy() for table in log_probs]
    return [table / table.sum(axis=-1, keepdims=True) for table in tables]


@dataclass(frozen=True)
class ExactMeasures:
    """What an enumerated policy is, exactly; each a mean over the task's rows unless it says otherwise."""

    validity: tuple[float, ...]
    """Of each row."""
    effective_answers: float
    """exp of the entropy of the valid answers."""
    excess_kl: float
    """KL(pi || base) beyond what the pass rate had to cost."""
    first_share: float
    """P(first token is the first word | valid)."""
    favourite_share: float
    """P(the base's likeliest valid answer | valid)."""
    pass_at_k: tuple[float, ...]
    """At k in PASS_AT."""


PASS_AT = (1, 4, 16)


def exact(task: EnumerableTask, tables: Sequence[np.ndarray], base: Sequence[np.ndarray]) -> ExactMeasures:
    """The measures of a policy's tables against the base's, tables of each text."""
    rows, base_rows = task.of_rows(tables), task.of_rows(base)
    rates = np.minimum(task.pass_rates(tables), 1.0)
    shares, base_shares = (
        valid_answer_shares(policy, task.valid, task.end).reshape(len(rates), -1)
        for policy in (rows, base_rows)
    )
    by_first = shares.reshape(len(shares), task.vocabulary, -1).sum(axis=2)
    favourite = base_shares.argmax(axis=1)[:, None]
    return ExactMeasures(
        validity=tuple(rates.tolist()),
        effective_answers=float(np.exp(entropy(shares)).mean()),
        excess_kl=float(policy_excess_kl(rows, base_rows, task.valid, task.end).excess.mean()),
        first_share=float(by_first[:, 0].mean()),
        favourite_share=float(np.take_along_axis(shares, favourite, axis=1).mean()),
        pass_at_k=tuple(float(exact_pass_at_k(rates, np.asarray(k)).mean()) for k in PASS_AT),
    )
