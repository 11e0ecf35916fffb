"""What the recursions run on: log-weights of (context, next symbol), and products of powers of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor


@runtime_checkable
class Weights(Protocol):
    """Logs of weights of (context, next symbol), normalised (a Markov model) or not."""

    @property
    def vocabulary(self) -> int:
        """The number V of symbols."""
        ...

    @property
    def order(self) -> int:
        """The number of symbols in a full context."""
        ...

    @property
    def length(self) -> int | None:
        """The only word length they serve, if there is one."""
        ...

    @property
    def differentiable(self) -> bool:
        """Whether answers are tensors."""
        ...

    def log_step(self, t: int) -> Tensor:
        """Step t's table, (*batch, V**min(t, order), V)."""
        ...

    def lifted(self, order: int) -> "Weights":
        """The same weights written with a higher order."""
        ...


@dataclass(frozen=True, eq=False)
class Powers:
    """The weights prod_i w_i^a_i of models of one order.

    A zero weight makes the product zero, whatever its exponent: what a negative one would make of it
    (infinity) is the caller's to add.
    """

    models: tuple[Weights, ...]
    exponents: tuple[float, ...]

    @staticmethod
    def combine(logs: Sequence[Tensor], exponents: Sequence[float]) -> Tensor:
        """sum_i a_i log_i, and -inf wherever a log is."""
        zero = torch.stack(torch.broadcast_tensors(*(log == -torch.inf for log in logs))).any(0)
        total = sum(
            a * log.masked_fill(log == -torch.inf, 0.0) for a, log in zip(exponents, logs, strict=True)
        )
        return torch.as_tensor(total).masked_fill(zero, -torch.inf)

    @property
    def vocabulary(self) -> int:
        """The number of symbols."""
        return self.models[0].vocabulary

    @property
    def order(self) -> int:
        """The models' order."""
        return self.models[0].order

    @property
    def length(self) -> int | None:
        """The length that the models know, None if all are homogeneous."""
        return next((model.length for model in self.models if model.length is not None), None)

    @property
    def differentiable(self) -> bool:
        """Whether some model answers in tensors."""
        return any(model.differentiable for model in self.models)

    def log_step(self, t: int) -> Tensor:
        """Step t's table of log-weights, (*batch, contexts, V)."""
        return self.combine([model.log_step(t) for model in self.models], self.exponents)

    def lifted(self, order: int) -> "Powers":
        """The same weights written with a higher order."""
        return Powers(tuple(model.lifted(order) for model in self.models), self.exponents)
