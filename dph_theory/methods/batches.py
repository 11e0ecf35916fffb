"""A batch as the formulas of updates see it."""

from typing import NamedTuple

import numpy as np

GROUP = 4
"""Answers of a group."""


class Samples(NamedTuple):
    """Batches of groups: leading axes are batches, then groups and answers, then
    tokens (0 where there are none).

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
