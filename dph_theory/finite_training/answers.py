"""Every answer of a tree, and its update: the coefficient of each token's log-probability.

The functions are written once for arrays and tensors: `xp` is numpy or torch.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..divergences import REVERSE_KL
from ..losses.kl_terms import DESCENDING, KL_FORMS

STORED = ("rehearsal", "kl_dpg")  # -log u on stored correct answers, beside the reward or alone.
FORMS = ("none", *DESCENDING, *STORED)
"""No penalty, a KL term by its name in `losses.kl_terms.KL_FORMS`, or a rehearsal."""
Advantage = Callable[[Any, Any], Any]
"""An advantage maps the rewards (..., answers) at the pass rate V (..., 1) to values (..., answers)."""
BASELINES: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {"none": lambda v: 0 * v, "mean": lambda v: v, "one": lambda v: 0 * v + 1}
)
"""The number that is subtracted from a reward, as a function of the pass rate V."""


class AnswerTokens(NamedTuple):
    """All answers of up to T tokens out of V, each once; an ended answer is padded with the end symbol."""

    answers: np.ndarray  # (answers, T): index of each answer in a table (V, ..., V).
    entries: np.ndarray  # (answers, T): index of each token in the vector of joined tables.
    counted: np.ndarray  # (answers, T): is the token part of the answer, end symbol included?

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens of each answer."""
        return self.counted.sum(axis=1)

    def per_answer(self, table: np.ndarray) -> np.ndarray:
        """Reshape a table from (..., V, ..., V) to (..., answers)."""
        return table[(..., *self.answers.T)]


def answer_tokens(tokens: int, length: int, end: int | None) -> AnswerTokens:
    """Enumerate all answers of up to `length` tokens out of `tokens`; `end`, if given, ends an answer."""
    answers = np.indices((tokens,) * length).reshape(length, -1).T
    ended = np.zeros(answers.shape, dtype=bool)
    if end is not None:
        ended[:, 1:] = np.logical_or.accumulate(answers == end, axis=1)[:, :-1]
        answers, ended = (part[~(ended & (answers != end)).any(axis=1)] for part in (answers, ended))
    places = np.zeros(answers.shape[0], dtype=int)
    entries, start = [], 0
    for t in range(length):
        places = places * tokens + answers[:, t]
        entries.append(start + places)
        start += tokens ** (t + 1)
    return AnswerTokens(answers, np.stack(entries, axis=1), ~ended)


def joined(tables: Sequence[np.ndarray]) -> np.ndarray:
    """Join the logits of tables to one vector; a token without mass gets a finite logit in place of -inf."""
    with np.errstate(divide="ignore"):
        return np.concatenate([np.maximum(np.log(table), -1e3).ravel() for table in tables])


def update(
    xp: Any,
    log_policy: Any,
    log_base: Any,
    verdicts: Any,
    *,
    form: str,
    beta: float,
    advantage: Advantage,
    weight: Any = 1.0,
    drawn: Any = None,
) -> tuple[Any, Any]:
    """Probability of each answer, and the coefficients of its tokens' log-probabilities.

    log_policy, log_base: (..., answers, tokens), 0 for tokens that an answer lacks. `verdicts`: rewards,
    (..., answers). weight: of each answer, (..., answers). drawn: probabilities with which answers are
    sampled, (..., answers), by default the policy's p. The penalty of a whole answer is centred by its mean.
    Returns these probabilities and c (..., answers, tokens); with stored answers, c of the rewards alone.
    """
    p = xp.exp(log_policy.sum(-1)) if drawn is None else drawn
    log_u = log_policy - log_base
    coefficient = advantage(verdicts, (p * verdicts).sum(-1)[..., None])[..., None]
    term = KL_FORMS.get(form)
    if term is not None and term.place.startswith("reward"):
        answer = log_u.sum(-1)
        past = (p * answer).sum(-1)[..., None, None] if form == "sequence_kl" else log_u.cumsum(-1) - log_u
        coefficient = coefficient - beta * (answer[..., None] - past)
    elif term is not None:
        coefficient = coefficient - beta * (log_u if term.divergence is REVERSE_KL else -xp.expm1(-log_u))
    return p, coefficient * (weight[..., None] if hasattr(weight, "shape") else weight) + 0 * log_u


def reward_less(baseline: str) -> Advantage:
    """Advantage that subtracts a baseline from the reward, by its name in BASELINES."""
    return lambda verdicts, pass_rate: verdicts - BASELINES[baseline](pass_rate)
