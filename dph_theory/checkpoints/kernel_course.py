"""The course of log odds that the kernel of the base forecasts, beside that of a run's own first steps.

The kernel stays where gradients do. How much of the first steps it described says what it is worth later:
its share of their mean square weighs its later steps, and the run's own clock takes what it left over.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..numeric.elementary import Values
from ..support.errors import argument_error
from ..transfer import AnswerKernel, LinearisedMethod, linearised_training
from .counts import PairedCounts

HOLDS_FROM = 0.1
"""Of the first steps' mean square: a kernel that describes less does not hold."""


class KernelChange(NamedTuple):
    """What the kernel says of prompts (prompts,): the change of log odds so far, and what is to come.

    Zero where the kernel does not have the prompt.
    """

    described: np.ndarray
    ahead: np.ndarray


@dataclass(frozen=True, eq=False)
class KernelCourse:
    """Log odds (steps + 1, prompts) of a run by the linearised model, prompts by id, and the trained ids."""

    places: dict[str, int]
    log_odds: np.ndarray
    trained: tuple[str, ...]

    @classmethod
    def from_kernel(
        cls, kernel: AnswerKernel, method: LinearisedMethod, steps: int, learning_rate: float
    ) -> "KernelCourse":
        """By Adam at a constant rate, the first set's prompts trained; ValueError where that is not known."""
        if "adam" not in kernel.about:
            raise argument_error("transfer", repr(kernel), "a kernel that dph transfer measured")
        trained = kernel.prompts_in(kernel.sets[0])
        curves = linearised_training(
            kernel, method, trained, steps=steps, step=learning_rate * kernel.about["adam"]
        )
        return cls(kernel.places(), curves.log_odds, tuple(kernel.names[i] for i in trained))

    def change(self, ids: Sequence[str], now: int, later: int) -> KernelChange:
        """Of these prompts between the base, a step and a later one; ValueError if it has none of them."""
        places = np.array([self.places.get(name, -1) for name in ids])
        if (places < 0).all():
            raise argument_error("transfer", [*self.places][:3], f"prompts of the counts, such as {ids[0]!r}")
        start, middle, end = self.log_odds[[0, now, later]][:, places]
        parts = (np.where(places < 0, 0.0, part) for part in (middle - start, end - middle))
        return KernelChange(*parts)


class MeasuredChange(NamedTuple):
    """Changes of log odds by counts, half an answer added to either side, and their variances."""

    value: np.ndarray
    variance: np.ndarray

    @classmethod
    def from_counts(cls, pairs: PairedCounts) -> "MeasuredChange":
        """Of each prompt, (prompts,)."""
        base, run = (
            (c + 0.5, n - c + 0.5) for n, c in ((pairs.base_n, pairs.base_c), (pairs.run_n, pairs.run_c))
        )
        value = np.log(run[0] / run[1] * base[1] / base[0])
        return cls(value, np.sum([1 / answers for answers in (*base, *run)], axis=0))

    @property
    def weight(self) -> np.ndarray:
        """Of each prompt, the less the noisier."""
        return 1 / (1 + self.variance)

    @property
    def mean_square(self) -> float:
        """Without the noise of the counts."""
        return max(float(np.average(self.value**2 - self.variance, weights=self.weight)), 0.0)

    def described_by(self, change: Values) -> float:
        """The share of the mean square, from 0 to 1, that changes (prompts,) describe.

        One less the mean square of what is left over this one; what the noise adds to both is taken off.
        """
        both = float(np.average((2 * self.value - change) * change, weights=self.weight))
        return float(np.clip(both / self.mean_square, 0, 1)) if self.mean_square else 0.0
