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


def measured_changes(pairs: PairedCounts) -> tuple[Values, Values]:
    """The change of log odds of each prompt by its counts, half an answer added to either side; variances."""
    sides = ((pairs.base_n, pairs.base_c), (pairs.run_n, pairs.run_c))
    base, run = ((c + 0.5, n - c + 0.5) for n, c in sides)
    variance = np.sum([1 / answers for answers in (*base, *run)], axis=0)
    return np.log(run[0] / run[1] * base[1] / base[0]), variance


def described_share(changes: tuple[Values, Values], by_kernel: Values) -> tuple[float, float, float]:
    """Mean squares of `measured_changes` and of a kernel's (prompts,), and the share that these describe.

    A prompt weighs the less the noisier it is. The share, from 0 to 1, is one less the mean square of what is
    left over that of the changes; what the noise adds to both is taken off.
    """
    value, variance = changes
    squares = value**2 - variance, by_kernel**2, (2 * value - by_kernel) * by_kernel
    measured, forecast, both = (float(np.average(x, weights=1 / (1 + variance))) for x in squares)
    return max(measured, 0.0), forecast, float(np.clip(both / measured, 0, 1)) if measured > 0 else 0.0
