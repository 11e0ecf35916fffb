"""Weighted sums over the tokens that count, with value and gradient computed in one pass.

A loss here is sum_i w_i k(x_i), where k is an elementary function whose slope is known in closed form.
Autograd would differentiate the guards of k and return nan at their switching points; `weighted_sum` uses w_i
k'(x_i).
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..support.errors import choice
from .inputs import TokenMask, Tokens
from .methods import REDUCTIONS

FunctionWithSlope: TypeAlias = Callable[..., tuple[Tensor, Tensor]]
"""Maps tensors to (value, slope in the first one); finite at zero arguments, where the value is 0."""


def working_dtype(*tensors: Tensor) -> torch.dtype:
    """Dtype of the arithmetic and of the loss: float64 if any tensor has it, else float32."""
    return torch.float64 if any(t.dtype == torch.float64 for t in tensors) else torch.float32


def clear(values: Tensor, mask: TokenMask, dtype: torch.dtype) -> Tensor:
    """Convert values to the working dtype, exactly 0 where the mask is false, whatever the value was."""
    return torch.where(mask, values.to(dtype), 0.0)


def weights(mask: TokenMask, level: str, reduction: str, dtype: torch.dtype) -> Tensor:
    """Weight of each term, a scalar or (batch, 1), before masking.

    "sum": 1. "token_mean": 1 / tokens of the batch (yu2025dapo), at either level, so that for an additive
    term such as -log u both levels agree. "sequence_mean": the mean over rows that have tokens, of the row's
    mean over its tokens (shao2024grpo) at the token level, of its one term at the sequence level.
    "sequence_sum": the mean over rows of the row's sum.
    """
    choice("reduction", reduction, REDUCTIONS)
    one = torch.ones((), dtype=dtype, device=mask.device)
    if reduction == "sum":
        return one
    if reduction == "token_mean":
        return one / mask.sum()
    tokens = mask.sum(dim=1, keepdim=True)
    rows = one / (tokens > 0).sum()
    divides = level == "token" and reduction == "sequence_mean"
    return rows / tokens.clamp(min=1) if divides else rows


def reduced(values: Tensor, mask: Tensor, reduction: str) -> Tensor:
    """Reduce values (batch, tokens) to a scalar that autograd can differentiate."""
    counts = mask > 0
    return (clear(values, counts, values.dtype) * weights(counts, "token", reduction, values.dtype)).sum()


def at_level(level: str, mask: TokenMask, *tensors: Tokens) -> tuple[TokenMask, list[Tensor]]:
    """Mask and log-probabilities of the level's terms: the tokens, or each row summed, (batch, 1)."""
    if level == "token":
        return mask, list(tensors)
    summed = [clear(tensor, mask, working_dtype(tensor)).sum(dim=1, keepdim=True) for tensor in tensors]
    return mask.any(dim=1, keepdim=True), summed


def weighted_sum(function: FunctionWithSlope, mask: TokenMask, weight: Tensor, *tensors: Tensor) -> Tensor:
    """Sum of weight times kernel(*tensors), differentiable in the first tensor only.

    Tensors and mask are (batch, terms). The scalar has the dtype of the weights, the gradient that of the
    first tensor. A second derivative is an error.
    """
    total: Tensor = _WeightedSum.apply(function, mask, weight, *tensors)
    return total


class _WeightedSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, function: Any, mask: Tensor, weight: Tensor, *tensors: Tensor) -> Tensor:
        value, slope = function(*(clear(tensor, mask, weight.dtype) for tensor in tensors))
        # In the working dtype: the scale of a float16 loss is applied only in the backward pass.
        ctx.save_for_backward(clear(slope, mask, weight.dtype) * weight)
        ctx.dtype = tensors[0].dtype
        # Weighed before summing: a sum may overflow where the mean does not.
        return (value * weight).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, incoming: Tensor) -> tuple[Tensor | None, ...]:
        (slope,) = ctx.saved_tensors
        gradient = (slope * incoming).to(ctx.dtype)
        return (None, None, None, gradient, *(None,) * (len(ctx.needs_input_grad) - 4))
