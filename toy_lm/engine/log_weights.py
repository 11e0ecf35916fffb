"""What the recursions run on: log-weights of (context, next symbol), and products of powers of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from .markov import MarkovLM


@dataclass(frozen=True, eq=False)
class Powers:
    """The weights prod_i p_i^a_i of Markov models p_i of one order; they need not sum to one.

    Where some p_i is zero the product is zero, whatever the exponent: what a negative one would make of it
    (infinity) is the caller's to add.
    """

    models: tuple[MarkovLM, ...]
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
    def differentiable(self) -> bool:
        """Whether some model answers in tensors."""
        return any(model.differentiable for model in self.models)

    def log_step(self, t: int) -> Tensor:
        """Step t's table of log-weights, (*batch, contexts, V)."""
        return self.combine([model.log_step(t) for model in self.models], self.exponents)


Weights: TypeAlias = MarkovLM | Powers
"""What the recursions run on."""
