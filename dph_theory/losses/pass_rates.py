"""Weights V^-p of prompts' advantages, where V is the pass rate from earlier counts and each new group.

A group of G answers cannot resolve a pass rate far below 1/G: dividing by the group's own mean or std weighs
all such prompts alike. Counts from pre-sampling resolve them. Source: ours, entries `retention`.
"""

from typing import Any

import torch
from torch import Tensor

from ..numeric.arrays import probability, real, scalar
from ..support.errors import argument_error
from .advantages import check_groups

MEMORY = 0.8  # Factor by which a new group discounts earlier counts, because the policy moves.


class PassRates:
    """Pass rates of prompts from counts of the base, updated by groups of answers.

    Parameters: correct, answers: counts (prompts,) with `correct` at most `answers` and `answers` at least
    one; fractions are discounted counts; memory in [0, 1], the factor by which a group discounts earlier
    counts. Raises ValueError for other values.

    >>> rates = PassRates([0, 8], [8, 8])
    >>> rates.count([0, 1], torch.tensor([[1.0, 0.0], [1.0, 1.0]]))
    >>> rates.weights([0, 1], power=1.0).tolist()
    [8.4, 1.0]
    """

    def __init__(self, correct: Any, answers: Any, *, memory: float = MEMORY) -> None:
        answers = real("answers", answers, at_least=1, below=1e15)
        correct = real("correct", correct, at_least=0)
        if correct.shape != answers.shape or correct.ndim != 1 or (correct > answers).any():
            raise argument_error("correct", correct.tolist(), f"counts of at most {answers.tolist()}")
        self.memory = scalar("memory", probability("memory", memory))
        self.correct = torch.as_tensor(correct, dtype=torch.float64).clone()
        self.answers = torch.as_tensor(answers, dtype=torch.float64).clone()

    def count(self, prompts: Any, rewards: Tensor) -> None:
        """Count groups one by one: prompts, indices (groups,); their rewards, 0 or 1, (groups, size)."""
        check_groups(rewards)
        # A prompt may have several groups, which an assignment by index would count only once.
        for row, group in zip(torch.as_tensor(prompts).tolist(), rewards.double().cpu(), strict=True):
            self.correct[row] = self.memory * self.correct[row] + group.sum()
            self.answers[row] = self.memory * self.answers[row] + len(group)

    def weights(self, prompts: Any, *, power: float) -> Tensor:
        """V^-power of these prompts, (groups,), after their own groups are counted.

        With n counted answers of one policy and power 1, an undivided advantage weighs V as MaxRL does in
        groups of n, up to a factor. Without the own group, one success after a row of failures would weigh as
        much as many successes: a spike that Adam's second moment remembers. If no answer was correct, so that
        advantages are zero, V counts as 1e-9. ValueError for a power outside [0, 10).
        """
        power = scalar("power", real("power", power, at_least=0, below=10))
        rows = torch.as_tensor(prompts)
        return (self.correct[rows] / self.answers[rows]).clamp_min(1e-9) ** -power
