"""Means and sums over the tokens that count, with the gradient made in the same pass as the value.

A loss here is sum_i w_i k(x_i), k an elementary function whose slope is known in closed form. Autograd would
keep every intermediate of k; `weighted_sum` keeps one tensor, w_i k'(x_i), and works through the batch in
tiles that stay in the processor's cache.
"""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..support.errors import choice
from .inputs import REDUCTIONS, TokenMask, Tokens

Kernel: TypeAlias = Callable[..., tuple[Tensor, Tensor]]
"""Tensors to (value, slope in the first one), new tensors; finite at zeros."""

TILE = 131_072
"""The most elements worked on at a time. Fewer cost time, more cost memory."""
_BITS = {torch.float32: torch.int32, torch.float64: torch.int64}


class TermWeights(NamedTuple):
    """What a term counts: a scalar, times a number of its row, (batch, 1), where rows differ."""

    scale: Tensor
    rows: Tensor | None


def working_dtype(*tensors: Tensor) -> torch.dtype:
    """The dtype of the arithmetic, and of the loss: float64 if any tensor has it, else float32."""
    return torch.float64 if any(t.dtype == torch.float64 for t in tensors) else torch.float32


def clear(values: Tensor, mask: TokenMask, dtype: torch.dtype) -> Tensor:
    """The values in the working dtype, exactly 0 where the mask is false, whatever stood there."""
    bits = all_bits(mask, dtype)
    # 0 times nan is nan, and selecting by a mask without order takes ten times as long as this.
    return (values.to(dtype).view(bits.dtype) & bits).view(dtype)


def all_bits(mask: TokenMask, dtype: torch.dtype) -> Tensor:
    """All bits set where the mask is true, none elsewhere, in integers of the dtype's width."""
    return mask.to(_BITS[dtype]).neg_()


def weights(mask: TokenMask, level: str, reduction: str, dtype: torch.dtype) -> TermWeights:
    """What a term counts in the loss; fully masked rows count nothing.

    "sum": 1. "token_mean": 1 / tokens of the batch (yu2025dapo), at either level, so that for an additive
    term such as -log u both levels agree. "sequence_mean": the mean over rows that have tokens, of the
    row's mean over its tokens (shao2024grpo) at the token level, of its one term at the sequence level.
    """
    choice("reduction", reduction, REDUCTIONS)
    one = torch.ones((), dtype=dtype, device=mask.device)
    if reduction == "sum":
        return TermWeights(one, None)
    if reduction == "token_mean":
        return TermWeights(one / mask.sum(), None)
    tokens = mask.sum(dim=1, keepdim=True)
    scale = one / (tokens > 0).sum()
    return TermWeights(scale, one / tokens.clamp(min=1) if level == "token" else None)


def sequence_sum(values: Tokens, mask: TokenMask) -> Tensor:
    """The sum over the tokens that count, shape (batch, 1), in the working dtype; differentiable."""
    kept = torch.where(mask, values, torch.zeros((), dtype=values.dtype, device=values.device))
    return kept.sum(dim=1, keepdim=True, dtype=working_dtype(values))


def at_level(level: str, mask: TokenMask, *tensors: Tokens) -> tuple[TokenMask, list[Tensor]]:
    """The mask and log-probabilities of the level's terms: the tokens, or each row summed, (batch, 1)."""
    if level == "token":
        return mask, list(tensors)
    return mask.any(dim=1, keepdim=True), [sequence_sum(tensor, mask) for tensor in tensors]


def weighted_sum(kernel: Kernel, mask: TokenMask, weights: TermWeights, *tensors: Tensor) -> Tensor:
    """The scalar sum of weight times kernel(*tensors), differentiable in the first tensor only.

    Tensors and mask (batch, terms). The scalar has the dtype of the weights, the gradient that of the first
    tensor. A second derivative is an error.
    """
    total: Tensor = _WeightedSum.apply(kernel, mask, weights, *tensors)
    return total


class _WeightedSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, kernel: Kernel, mask: Tensor, weights: TermWeights, *tensors: Tensor) -> Tensor:
        first = tensors[0]
        # The scale of a float16 loss comes only with the backward pass: until then it is kept wider.
        ctx.dtype, kept_dtype = first.dtype, torch.float32 if first.dtype == torch.float16 else first.dtype
        # The arithmetic of a 16-bit tensor is in 32 bits: small batches of these go in two tiles.
        elements = TILE if first.element_size() > 2 else min(TILE, max(mask.numel() // 2, TILE // 2))
        size = max(1, elements // max(1, mask.shape[1]))
        total = torch.zeros_like(weights.scale)
        kept = torch.empty(first.shape, dtype=kept_dtype, device=first.device)
        tiles = zip(*(t.split(size) for t in (mask, kept, *tensors)), strict=True)
        rows = itertools.repeat(None) if weights.rows is None else weights.rows.split(size)
        for row, (tile, slot, *values) in zip(rows, tiles, strict=False):
            total += _one_tile(kernel, weights.scale, row, tile, slot, *values)
        ctx.save_for_backward(weights.scale, kept)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, incoming: Tensor) -> tuple[Tensor | None, ...]:
        scale, kept = ctx.saved_tensors
        gradient = (kept * (scale * incoming)).to(ctx.dtype)
        return (None, None, None, gradient, *(None,) * (len(ctx.needs_input_grad) - 4))


def _one_tile(
    kernel: Kernel, scale: Tensor, row: Tensor | None, mask: Tensor, slot: Tensor, *tensors: Tensor
) -> Tensor:
    """The tile's part of the sum; its gradient, still without the common scale, goes into the slot."""
    value, slope = kernel(*(clear(tensor, mask, scale.dtype) for tensor in tensors))
    if row is not None:
        value.mul_(row)
        slope.mul_(row)
    # The bits are made anew: to keep them through the kernel would raise its peak memory by a sixth.
    bits = all_bits(mask, scale.dtype)
    slope.view(bits.dtype).bitwise_and_(bits)
    slot.copy_(slope)
    # Weighed before summing: a sum may overflow where the mean does not.
    return value.mul_(scale).sum()
