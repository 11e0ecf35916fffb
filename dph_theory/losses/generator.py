"""The rehearsal loss: an f-divergence in generator form, on samples of a reference or its correct part."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..divergences import DIVERGENCES
from ..fdivergence import FDivergence
from ..support.errors import choice
from .inputs import LEVELS, TokenMask, Tokens, token_batch
from .reductions import Kernel, all_bits, at_level, weighted_sum, weights, working_dtype


def generator_loss(
    divergence: FDivergence | str,
    log_ratio: Tokens,
    mask: TokenMask,
    *,
    level: str = "token",
    reduction: str = "token_mean",
    gauge: str | float = "printed",
) -> Tensor:
    """The mean of f(u) at log u = log_ratio = log pi - log ref of stored reference samples; a scalar.

    f(u) + c(u-1), by gauge: "printed" is f as declared, "normalised" subtracts f'(1)(u-1), a number is c. On
    all reference samples every gauge estimates D_f(pi || ref); on correct ones only, the gauge decides the
    target: -log u aims at the filtered model, the normalised gauge at the base's own rate (theory B3).
    log_ratio, mask (batch, tokens); level "token" takes each token's ratio, "sequence" the product of each
    row's; reduction as in `reductions.weights`. The scalar is float64 for float64 input and float32
    otherwise, the gradient of the input's dtype; inf only where the true value exceeds these.
    Raises ValueError for another divergence, level, reduction or gauge, shapes that differ, integers, a batch
    with every token masked. Source: li2025choice; the gauge: ours.
    """
    divergence = _declared(divergence)
    choice("level", level, LEVELS)
    mask = token_batch(mask, log_ratio=log_ratio)
    dtype = working_dtype(log_ratio)
    terms, (x,) = at_level(level, mask, log_ratio)
    return weighted_sum(generator(divergence, gauge), terms, weights(mask, level, reduction, dtype), x)


def _declared(divergence: FDivergence | str) -> FDivergence:
    if isinstance(divergence, FDivergence):
        return divergence
    choice("divergence", divergence, DIVERGENCES)
    return DIVERGENCES[divergence]


def generator(divergence: FDivergence, gauge: str | float) -> Kernel:
    """The function x -> (f(e^x), its derivative in x) on tensors: the divergence's own form.

    In the dtype of x for the printed and the normalised gauge, which lose nothing in it; a number as gauge
    may cancel most of f, and is computed in float64.
    """
    return partial(_kernel, divergence, gauge, not isinstance(gauge, str) and gauge != 0)


def log_ratio(log_pi: Tensor, log_ref: Tensor) -> Tensor:
    """log(pi/ref), 0 where both masses are 0."""
    return torch.where(log_pi == log_ref, 0.0, log_pi - log_ref)


class _Tensors:
    """Torch as the namespace of a declaration, whose choices between float tensors cost a fifth."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    @staticmethod
    def where(condition: Tensor, chosen: Tensor | float, other: Tensor | float) -> Tensor:
        """As torch.where; between float tensors of one shape, or one and 0, by their bits."""
        if (
            not isinstance(chosen, Tensor)
            or chosen.shape != condition.shape
            or not chosen.is_floating_point()
        ):
            return torch.where(condition, chosen, other)
        bits = all_bits(condition, chosen.dtype)
        if not isinstance(other, Tensor) and other == 0:
            return (chosen.view(bits.dtype) & bits).view(chosen.dtype)
        if isinstance(other, Tensor) and (other.dtype, other.shape) == (chosen.dtype, chosen.shape):
            return ((chosen.view(bits.dtype) & bits) | (other.view(bits.dtype) & ~bits)).view(chosen.dtype)
        return torch.where(condition, chosen, other)


_TENSORS = _Tensors()


def _kernel(divergence: FDivergence, gauge: str | float, wide: bool, x: Tensor) -> tuple[Tensor, Tensor]:
    value, slope = divergence.on_log_ratio(x.double() if wide else x, gauge=gauge, xp=_TENSORS)
    return value.to(x.dtype), slope.to(x.dtype)
