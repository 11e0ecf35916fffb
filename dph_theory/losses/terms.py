"""The generator of any divergence as a term of a loss in torch."""

from functools import partial

from torch import Tensor

from ..fdivergence import FDivergence
from .reductions import Kernel


def generator(divergence: FDivergence, gauge: str | float) -> Kernel:
    """The function x -> (f(e^x), its derivative in x) on tensors: the divergence's own form, in float64.

    A number as gauge may cancel most of f, which float32 would not survive.
    """
    return partial(_in_float64, divergence, gauge)


def _in_float64(divergence: FDivergence, gauge: str | float, x: Tensor) -> tuple[Tensor, Tensor]:
    value, slope = divergence.on_log_ratio(x.double(), gauge=gauge)
    return value.to(x.dtype), slope.to(x.dtype)
