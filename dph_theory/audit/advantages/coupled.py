"""Advantages that couple the groups of a batch: two groups enumerated together, each at its own pass rate."""

from dataclasses import dataclass

import numpy as np

from ...numeric.arrays import Scalars
from ...numeric.balls import Values
from .enumeration import Advantage, called, chances


@dataclass(frozen=True)
class PairTable:
    """Advantages in a group with k right answers beside one with j, each k, j = 0 .. G; either order's mean.

    `right` and `wrong` (G+1, G+1) are those of a right and of a wrong answer (0 where there is none, and
    where an advantage is not finite).
    """

    right: np.ndarray
    wrong: np.ndarray

    def weight(self, validity: Scalars, other: float) -> Values:
        """alpha_G(V | V'): the weight on grad V of a prompt of pass rate V beside one of pass rate V'."""
        size = len(self.right) - 1
        gains = self.right[1:] - self.wrong[:-1]
        found: Values = chances(size - 1, validity) @ gains @ chances(size, other)
        return found


def tabulate_pairs(advantage: Advantage, group_size: int) -> PairTable:
    """The table of an advantage that is symmetric within groups; AdvantageError says why there is none."""
    rows = (np.arange(group_size) < np.arange(group_size + 1)[:, None]).astype(float)
    right, wrong = (np.zeros((group_size + 1, group_size + 1)) for _ in range(2))
    for k, mine in enumerate(rows):
        for j, other in enumerate(rows):
            first = called(advantage, np.stack([mine, other]))[0]
            second = called(advantage, np.stack([other, mine]))[1]
            found = np.nan_to_num((first + second) / 2, nan=0.0, posinf=0.0, neginf=0.0)
            right[k, j] = found[0] if k > 0 else 0.0
            wrong[k, j] = found[-1] if k < group_size else 0.0
    return PairTable(right, wrong)
