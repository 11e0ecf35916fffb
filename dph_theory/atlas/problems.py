"""The three small problems, their answers one by one, and the policies that methods converge to."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from ..finite_training.answers import AnswerTokens, TabularPolicy, answer_tokens
from ..numeric.elementary import Values
from ..stationary import (
    answer_mean_limit,
    answer_probabilities,
    filtered_policy,
    locally_filtered,
    token_forward_limit,
)

FILTERED, UNIFORM, LOCAL = "base's proportions", "uniform", "locally filtered"
FORWARD, MEANS, UNIFORM_LOCAL = "token forward limit", "per-answer-mean law", "uniform, token by token"
PER_TOKEN = "equal mean log pi of tokens"
ONE, OTHER = "one answer", "none of these"
BASE = "base itself, at its pass rate"
NEAR, ALMOST, CLEAR = 0.04, 0.1, 2.0
"""A policy is named that is within NEAR in total variation, one answer within ALMOST, if every other is CLEAR
times as far."""


@dataclass(frozen=True, eq=False)
class AtlasProblem(TabularPolicy):
    """Answers of a prefix tree, as next-token tables (`dynamics.flow`), and which of them are right."""

    name: str
    base: tuple[np.ndarray, ...]
    valid: np.ndarray
    end: int | None = None

    @cached_property
    def tokens(self) -> AnswerTokens:
        """Every answer that the base can give, once."""
        every = answer_tokens(self.base[0].shape[-1], len(self.base), self.end)
        given = every.per_answer(answer_probabilities(self.base, self.end)) > 0
        return AnswerTokens(*(part[given] for part in every))

    @property
    def verdicts(self) -> np.ndarray:
        """(answers,), 1 for correct ones."""
        return self.tokens.per_answer(self.valid).astype(float)

    def validity(self, theta: np.ndarray) -> Values:
        """The mass of the correct answers."""
        return (self.answers(theta) * self.verdicts).sum(axis=-1)

    def shares(self, theta: np.ndarray) -> np.ndarray:
        """Of each correct answer among the correct ones, (..., correct answers)."""
        right = self.answers(theta)[..., self.verdicts > 0]
        return right / right.sum(axis=-1, keepdims=True)

    @cached_property
    def candidates(self) -> dict[str, np.ndarray]:
        """The shares of each policy that has a name; of one-token answers some of them are one."""
        limits = {
            FILTERED: filtered_policy,
            LOCAL: locally_filtered,
            FORWARD: token_forward_limit,
            MEANS: answer_mean_limit,
        }
        right = self.verdicts > 0
        candidates = {UNIFORM: np.full(int(right.sum()), 1 / right.sum())}
        tables = {name: limit(self.base, self.valid, end=self.end) for name, limit in limits.items()}
        level = [np.where(table > 0, 1 / (table > 0).sum(axis=-1, keepdims=True), 0) for table in self.base]
        tables[UNIFORM_LOCAL] = locally_filtered(level, self.valid, end=self.end)
        lengths = self.tokens.lengths[right]
        root = brentq(lambda z: (z**lengths).sum() - 1, 0, 1)
        candidates[PER_TOKEN] = root**lengths
        for name, policy in tables.items():
            probabilities = self.tokens.per_answer(answer_probabilities(policy, self.end))
            candidates[name] = probabilities[right] / probabilities[right].sum()
        return candidates

    def policy_name(self, shares: np.ndarray) -> str:
        """The policy of these shares, the first of those that agree; OTHER if none is clearly nearest."""
        policies = {**self.candidates, ONE: np.eye(len(shares))[shares.argmax()]}
        gaps = {name: distance(shares, policy) for name, policy in policies.items()}
        ordered = (FILTERED, UNIFORM, LOCAL, FORWARD, MEANS, UNIFORM_LOCAL, PER_TOKEN, ONE)
        nearest = min(ordered, key=gaps.__getitem__)
        apart = [gaps[name] for name in ordered if distance(policies[name], policies[nearest]) > 1e-6]
        near = ALMOST if nearest == ONE else NEAR
        return nearest if gaps[nearest] <= near and min(apart) >= CLEAR * gaps[nearest] else OTHER


def distance(one: np.ndarray, other: np.ndarray) -> float:
    """The total variation between two distributions."""
    return float(np.abs(one - other).sum() / 2)


def decision(name: str, right: tuple[float, ...], wrong: tuple[float, ...]) -> AtlasProblem:
    """A single decision between answers of these masses."""
    return AtlasProblem(name, (np.array([*right, *wrong]),), np.arange(len(right) + len(wrong)) < len(right))


def _lengths() -> AtlasProblem:
    """A word or the end; after x most goes on well, after y little does, and after z nothing."""
    first = np.array([0.1, 0.2, 0.5, 0.2])
    after = np.array(
        [[0.54, 0.36, 0.0, 0.1], [0.1, 0.9, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]]
    )
    valid = np.zeros((4, 4), dtype=bool)
    valid[0, :2] = valid[1, 0] = valid[3, 3] = True
    return AtlasProblem("several lengths", (first, after), valid, end=3)


EQUAL = decision("equal", (0.15, 0.15), (0.35, 0.35))
UNEQUAL = decision("unequal", (0.3, 0.2, 0.1), (0.4,))
LENGTHS = _lengths()
TWO = decision("two right ones", (0.5, 0.5), ())
"""On which recovery is computed: all answers are correct."""
