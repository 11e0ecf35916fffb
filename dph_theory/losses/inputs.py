"""Validators of the losses' arguments; an error names the argument, its value and what is allowed."""

from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from ..support.errors import argument_error

Tokens: TypeAlias = Tensor  # Floats of any dtype, shape (batch, tokens).
TokenMask: TypeAlias = Tensor
"""True (or 1) at the tokens that count, shape (batch, tokens); masked tokens may have any value."""


def number(name: str, value: float, *, above: float, below: float = float("inf")) -> float:
    """Require one number strictly inside an interval."""
    if not isinstance(value, int | float | np.number) or not above < value < below:
        raise argument_error(name, value, f"a number in ({above:g}, {below:g})")
    return float(value)


def floats(name: str, value: Tensor, axes: tuple[str, ...]) -> None:
    """Require a floating-point tensor with the named axes."""
    if not isinstance(value, Tensor):
        raise argument_error(name, type(value).__name__, "a torch tensor")
    if not value.is_floating_point():
        raise argument_error(f"{name}.dtype", value.dtype, "float64, float32, bfloat16 or float16")
    if value.ndim != len(axes):
        raise argument_error(f"{name}.shape", tuple(value.shape), f"({', '.join(axes)})")


def same_shape(**tensors: Tensor) -> None:
    """Raise an error that lists the shapes unless all tensors have one shape."""
    if len({tensor.shape for tensor in tensors.values()}) > 1:
        shapes = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in tensors.items())
        raise ValueError(f"shapes do not fit: {shapes}; they must be equal")


def booleans(name: str, value: Tensor) -> Tensor:
    """Require a tensor of truth values, or of zeros and ones, as booleans."""
    if not isinstance(value, Tensor):
        raise argument_error(name, type(value).__name__, "a torch tensor")
    if value.dtype == torch.bool:
        return value
    bad = (value != 0) & (value != 1)
    if bad.any():
        raise argument_error(name, value[bad][0].item(), "booleans, or zeros and ones")
    return value != 0


def token_batch(mask: TokenMask, **tensors: Tokens) -> TokenMask:
    """Require a mask in which some token counts, and float tensors of its shape (batch, tokens)."""
    for name, tensor in tensors.items():
        floats(name, tensor, ("batch", "tokens"))
    mask = booleans("mask", mask)
    same_shape(**tensors, mask=mask)
    # A sum is several times faster than any().
    if mask.sum() == 0:
        raise argument_error("mask", f"all {mask.numel()} tokens masked", "at least one token must count")
    return mask
