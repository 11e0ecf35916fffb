"""The rehearsal loss: an f-divergence in generator form, on samples of a reference or its correct part.

The losses of the authors' release stand beside it as their code computes them, clamps and overflow included.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from ..divergences import DIVERGENCES
from ..fdivergence import FDivergence
from ..support.errors import choice
from .inputs import LEVELS, TokenMask, Tokens, token_batch
from .kl_terms import ESTIMATORS
from .reductions import FunctionWithSlope, at_level, reduced, weighted_sum, weights, working_dtype

Loss = Callable[..., Tensor]
"""Some of (log_pi, log_ref, log_old, advantages, mask), each (batch, tokens), by name -> a scalar."""


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
    all reference samples every gauge estimates D_f(pi || ref); on correct ones only, the gauge decides
    the target: of -log u it is the filtered model, of the normalised gauge the base's own pass rate.
    log_ratio, mask (batch, tokens); level "token" takes each token's ratio, "sequence" the product of each
    row's; reduction as in `reductions.weights`. The scalar is float64 for float64 input and float32
    otherwise, the gradient of the input's dtype; inf only where the true value exceeds these.
    Raises ValueError for another divergence, level, reduction or gauge, shapes that differ, integers, a batch
    with every token masked. Source: li2025choice; the gauge: ours, entries `rehearsal_gauge`.
    """
    if not isinstance(divergence, FDivergence):
        choice("divergence", divergence, DIVERGENCES)
        divergence = DIVERGENCES[divergence]
    choice("level", level, LEVELS)
    mask = token_batch(mask, log_ratio=log_ratio)
    dtype = working_dtype(log_ratio)
    terms, (x,) = at_level(level, mask, log_ratio)
    return weighted_sum(generator(divergence, gauge), terms, weights(mask, level, reduction, dtype), x)


def generator(divergence: FDivergence, gauge: str | float) -> FunctionWithSlope:
    """The function x -> (f(e^x), its derivative in x) on tensors: the divergence's own form.

    In the dtype of x for the printed and the normalised gauge, which lose nothing in it; a number as gauge
    may cancel most of f, and is computed in float64.
    """
    wide = not isinstance(gauge, str) and gauge != 0

    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        value, slope = divergence.on_log_ratio(x.double() if wide else x, gauge=gauge, xp=torch)
        return value.to(x.dtype), slope.to(x.dtype)

    return function


def log_ratio(log_pi: Tensor, log_ref: Tensor) -> Tensor:
    """log(pi/ref), 0 where both masses are 0."""
    return torch.where(log_pi == log_ref, 0.0, log_pi - log_ref)


def released_forward(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """The released rehearsal loss `forward`: u - 1 - log u, u = pi/ref, log u within +-20, the result +-10.

    log_pi, log_ref, mask (batch, tokens); returns the mean over tokens, in nats. Source: li2025choice, the
    released code.

    >>> float(released_forward(torch.zeros(1, 1), torch.tensor([[-30.0]]), torch.ones(1, 1)))
    10.0
    """
    return reduced(ESTIMATORS["k3"].clamped(torch, log_ref - log_pi, 20.0, 10.0), mask, "token_mean")


def released_half_js(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """The released rehearsal loss `js`: `forward` with (pi + ref)/2 for pi, one of the two halves of JS.

    Shapes, value and source as `released_forward`.
    """
    return released_forward(torch.log((torch.exp(log_ref) + torch.exp(log_pi)) / 2), log_ref, mask)


def released_js(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """The released rehearsal loss `js_low_var`: u log u - (u+1) log((u+1)/2), u log u a product.

    Shapes, value and source as `released_forward`; nan where u overflows or is 0.
    """
    u = torch.exp(log_pi - log_ref)
    return reduced(u * torch.log(u) - (u + 1) * torch.log((u + 1) / 2), mask, "token_mean")


def released_alpha(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """The released rehearsal loss `alpha`: (u^(1-a) - (1-a) u - a)/(a (a-1)) at a = 0.2, by a power of u.

    Shapes, value and source as `released_forward`; nan where u overflows.
    """
    u, alpha = torch.exp(log_pi - log_ref), 0.2
    values = (u ** (1 - alpha) - (1 - alpha) * u - alpha) / (alpha * (alpha - 1))
    return reduced(values, mask, "token_mean")
