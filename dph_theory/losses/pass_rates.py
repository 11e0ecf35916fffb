"""A weight V^-p of each prompt's advantages, its pass rate V from counts before training and of each group.

A group of G answers sees nothing of a pass rate far below 1/G: what divides by its own mean or std weighs
such prompts alike. Counts of a pre-sampling know them. Source: ours, entries `retention`.
"""

from typing import Any

import torch
from torch import Tensor

from ..numeric.arrays import probability, real, scalar
from ..support.errors import argument_error
from .advantages import check_groups

MEMORY = 0.8
"""What a group leaves of the counts before it: the policy moves, so that old answers say less."""


class PassRates:
    """Pass rates of prompts from counts of the base, which groups move on.

    Parameters: correct, answers: numbers (prompts,) of answers, `correct` at most `answers`, which are one or
    more; fractions are counts that have faded; memory in [0, 1], what a group leaves of the counts before it.
    Raises ValueError for others.

    >>> rates = PassRates([0, 8], [8, 8])
    >>> rates.count([0, 1], torch.tensor([[1.0, 0.0], [1.0, 1.0]]))
    >>> rates.weights([0, 1], power=1.0).tolist()
    [8.4, 1.0]
    """

    def __init__(self, correct: Any, answers: Any, *, memory: float = MEMORY) -> None:
        answers = real("answers", answers, at_least=1, below=1e15)
        correct = real("correct", correct, at_least=0)
        if correct.shape != answers.shape or correct.ndim != 1 or (correct > answers).any():
            raise argument_error("correct", correct.tolist(), f"a count a prompt, at most {answers.tolist()}")
        self.memory = scalar("memory", probability("memory", memory))
        self.correct = torch.as_tensor(correct, dtype=torch.float64).clone()
        self.answers = torch.as_tensor(answers, dtype=torch.float64).clone()

    def count(self, prompts: Any, rewards: Tensor) -> None:
        """Count groups one by one: prompts, indices (groups,); their rewards, 0 or 1, (groups, size)."""
        check_groups(rewards)
        # A prompt may have several groups, which an assignment by index would count once.
        for row, group in zip(torch.as_tensor(prompts).tolist(), rewards.double().cpu(), strict=True):
            self.correct[row] = self.memory * self.correct[row] + group.sum()
            self.answers[row] = self.memory * self.answers[row] + len(group)

    def weights(self, prompts: Any, *, power: float) -> Tensor:
        """V^-power of these prompts, (groups,), when their own groups are counted.

        With n counted answers of one policy and power 1 an undivided advantage weighs V as MaxRL's in groups
        of n, up to a factor. Were the own group left out, one success after a row of failures would weigh as
        much as they were many: a spike that Adam's second moment remembers. Where none was correct, whose
        advantages are zero, V counts as 1e-9. ValueError for a power outside of [0, 10).
        """
        power = scalar("power", real("power", power, at_least=0, below=10))
        rows = torch.as_tensor(prompts)
        return (self.correct[rows] / self.answers[rows]).clamp_min(1e-9) ** -power
