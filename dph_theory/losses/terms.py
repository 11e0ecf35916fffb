"""The generator of any divergence as a term of a loss in torch."""

from functools import partial

import torch
from torch import Tensor

from ..fdivergence import FDivergence
from .reductions import Kernel


def generator(divergence: FDivergence, gauge: str | float) -> Kernel:
    """The function x -> (f(e^x), its derivative in x) on tensors: the divergence's own form, in float64.

    A number as gauge may cancel most of f, which float32 would not survive.
    """
    return partial(_in_float64, divergence, gauge)


def log_ratio(log_pi: Tensor, log_ref: Tensor) -> Tensor:
    """log(pi/ref), 0 where both masses are 0."""
    return torch.where(log_pi == log_ref, 0.0, log_pi - log_ref)


def _in_float64(divergence: FDivergence, gauge: str | float, x: Tensor) -> tuple[Tensor, Tensor]:
    value, slope = divergence.on_log_ratio(x.double(), gauge=gauge)
    return value.to(x.dtype), slope.to(x.dtype)
