"""The advantages of every outcome of a group of G answers, and what they make of a pass rate."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import stats

from ...numeric.arrays import Scalars, probability, rate
from ...numeric.balls import Values
from ...support.errors import argument_error

Advantage = Callable[[Any], Any]
"""rewards (groups, G) -> advantages (groups, G)."""
MOST_ENUMERATED, LARGEST_GROUP = 12, 1024
"""Groups up to the first are enumerated by all 2^G outcomes; larger ones, if symmetric, by G + 1 of them."""


class AdvantageError(Exception):
    """An advantage that cannot be audited, and why."""


@dataclass(frozen=True)
class Table:
    """Advantages by the number k of right answers, k = 0 .. G, averaged over the outcomes with that k.

    `right` and `wrong` (G+1,) are the advantages of a right and of a wrong answer (0 where there is none);
    `symmetric` says that only k matters, `coupled` that a group's advantages depend on the others;
    `bad` lists the k at which some advantage is not finite (counted as zero).
    """

    right: np.ndarray
    wrong: np.ndarray
    symmetric: bool
    coupled: bool
    bad: tuple[int, ...]

    @property
    def group_size(self) -> int:
        """G."""
        return len(self.right) - 1

    @property
    def gains(self) -> np.ndarray:
        """A(right) - A(wrong) of one answer when k of the others are right, k = 0 .. G-1."""
        return self.right[1:] - self.wrong[:-1]

    def weight(self, validity: Scalars) -> Values:
        """alpha_G(V), shape of `validity` in [0, 1]."""
        found: Values = (chances(self.group_size - 1, validity) * self.gains).sum(axis=-1)
        return found

    def objective(self, validity: Scalars) -> Values:
        """J_G(V), the integral of alpha_G from 0 to V: exact Gauss quadrature of a polynomial."""
        v = probability("validity", validity)
        nodes, weights = np.polynomial.legendre.leggauss(self.group_size)
        at = v[..., None] * (nodes + 1) / 2
        found: Values = (self.weight(at) * weights).sum(axis=-1) * v / 2
        return found

    def variance(self, validity: Scalars) -> Values:
        """G times the variance of the gradient sum_i A_i s_i / G, s_i = d log p(v_i)/dV, at V in (0, 1)."""
        v = rate("validity", validity)[..., None]
        size, k = self.group_size, np.arange(self.group_size + 1)
        chance = chances(size, v[..., 0])
        gradient = (k * self.right / v - (size - k) * self.wrong / (1 - v)) / size
        mean = (chance * gradient).sum(axis=-1, keepdims=True)
        found: Values = size * (chance * (gradient - mean) ** 2).sum(axis=-1)
        return found


def chances(count: int, validity: Scalars) -> np.ndarray:
    """Binomial(count, V) probabilities of 0 .. count, (..., count+1)."""
    v = probability("validity", validity)
    found: np.ndarray = stats.binom.pmf(np.arange(count + 1), count, v[..., None])
    return found


def tabulate(advantage: Advantage, group_size: int) -> Table:
    """The table of an advantage; AdvantageError says why there is none.

    A function that tells the places in a group apart is enumerated over all 2^G outcomes, and its variance
    then is that of its mean over outcomes with the same k. Raises ValueError for a group below two.
    """
    if not 2 <= group_size <= LARGEST_GROUP:
        raise argument_error("group_size", group_size, f"a whole number from 2 to {LARGEST_GROUP}")
    sorted_rows = (np.arange(group_size) < np.arange(group_size + 1)[:, None]).astype(float)
    found = np.concatenate([called(advantage, row[None]) for row in sorted_rows])
    shuffled = np.random.default_rng(0).permuted(sorted_rows, axis=1)
    symmetric = _by_count(shuffled, np.concatenate([called(advantage, row[None]) for row in shuffled]), found)
    together = called(advantage, sorted_rows)
    coupled = not np.allclose(together, found, rtol=1e-9, atol=1e-12, equal_nan=True)
    rows, advantages = sorted_rows, found
    if not symmetric:
        if group_size > MOST_ENUMERATED:
            raise AdvantageError(
                f"it tells the places of a group apart: only groups up to {MOST_ENUMERATED} can be enumerated"
            )
        rows = (np.arange(2**group_size)[:, None] >> np.arange(group_size) & 1).astype(float)
        advantages = np.concatenate([called(advantage, row[None]) for row in rows])
    counts = rows.sum(axis=1).astype(int)
    bad = tuple(sorted({int(k) for k in counts[~np.isfinite(advantages).all(axis=1)]}))
    advantages = np.where(np.isfinite(advantages), advantages, 0.0)
    right, wrong = (_mean_by_count(advantages, rows == verdict, counts) for verdict in (1.0, 0.0))
    return Table(right, wrong, symmetric, coupled, bad)


def _mean_by_count(advantages: np.ndarray, chosen: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The mean advantage of the chosen answers, by the group's count; 0 where there is none."""
    size = advantages.shape[1] + 1
    totals = np.bincount(counts, (advantages * chosen).sum(axis=1), size)
    numbers = np.bincount(counts, chosen.sum(axis=1), size)
    return np.divide(totals, numbers, out=np.zeros(size), where=numbers > 0)


def _by_count(rows: np.ndarray, found: np.ndarray, sorted_found: np.ndarray) -> bool:
    """Whether shuffled groups give each verdict the advantage that it has in the sorted group."""
    for row, here, known in zip(rows, found, sorted_found, strict=True):
        right = int(row.sum())
        wanted = np.where(row > 0, known[0] if right else 0.0, known[-1])
        if not np.allclose(here, wanted, rtol=1e-9, atol=1e-12, equal_nan=True):
            return False
    return True


def called(advantage: Advantage, rewards: np.ndarray) -> np.ndarray:
    """The advantages of these groups, (groups, G) float64; what takes no tensor is given an array."""
    try:
        try:
            found = advantage(torch.as_tensor(rewards.copy()))
        except (TypeError, AttributeError):
            found = advantage(rewards.copy())
    except Exception as error:
        raise AdvantageError(f"it raised {type(error).__name__}: {error}") from error
    numbers = found.detach().double().numpy() if isinstance(found, torch.Tensor) else np.asarray(found, float)
    if numbers.shape != rewards.shape:
        raise AdvantageError(f"it returned {numbers.shape} for rewards {rewards.shape}: as many are needed")
    return numbers
