"""Rehearsal loss: an f-divergence in generator form, on samples of a reference or on its correct samples.

The losses of the authors' release are restated beside it as their code computes them, clamps and overflow
included.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ..divergences import DIVERGENCES
from ..fdivergence import FDivergence
from ..support.errors import argument_error, choice
from .inputs import TokenMask, Tokens, floats, token_batch
from .kl_terms import ESTIMATORS
from .methods import LEVELS
from .reductions import FunctionWithSlope, at_level, reduced, weighted_sum, weights, working_dtype

Loss = Callable[..., Tensor]
"""Maps some of (log_pi, log_ref, log_old, advantages, mask), each (batch, tokens), by name to a scalar."""


def generator_loss(
    divergence: FDivergence | str,
    log_ratio: Tokens,
    mask: TokenMask,
    *,
    level: str = "token",
    reduction: str = "token_mean",
    gauge: str | float = "printed",
) -> Tensor:
    """Mean of f(u) at log u = log_ratio = log pi - log ref over stored reference samples.

    On all reference samples every gauge estimates D_f(pi || ref). On correct samples only, the gauge decides
    the target: for -log u it is the filtered policy, for the normalised gauge the base's own pass rate.

    Args:
        divergence: An f-divergence or its name.
        log_ratio: log(pi/ref) of each token, shape (batch, tokens).
        mask: True at the tokens that count, same shape.
        level: "token" for each token's ratio, "sequence" for the product over each row.
        reduction: Weights of the terms, as in `reductions.weights`.
        gauge: Linear term c(u-1) added to f: "printed" is f as declared, "normalised" subtracts f'(1)(u-1), a
            number is c.

    Returns:
        A scalar, float64 for float64 input and float32 otherwise; inf only if the value exceeds the dtype.

    Raises:
        ValueError: For an unknown name, shapes that differ, integers, or a fully masked batch.

    Source: li2025choice; the gauge: ours, entries `rehearsal_gauge`.
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
    """Map x to (f(e^x), its derivative in x) on tensors, by the divergence's own form.

    The printed and the normalised gauge are accurate in the dtype of x. A number as gauge may cancel most of
    f, so it is computed in float64.
    """
    wide = not isinstance(gauge, str) and gauge != 0

    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        value, slope = divergence.on_log_ratio(x.double() if wide else x, gauge=gauge, xp=torch)
        return value.to(x.dtype), slope.to(x.dtype)

    return function


def log_ratio(log_pi: Tensor, log_ref: Tensor) -> Tensor:
    """log(pi/ref) from log-probabilities of any shape; 0 where both masses are 0."""
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

    Shapes, value and source are those of `released_forward`.
    """
    return released_forward(torch.log((torch.exp(log_ref) + torch.exp(log_pi)) / 2), log_ref, mask)


def released_js(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """The released rehearsal loss `js_low_var`: u log u - (u+1) log((u+1)/2), u log u a product.

    Shapes, value and source are those of `released_forward`; nan if u overflows or is 0.
    """
    u = torch.exp(log_pi - log_ref)
    return reduced(u * torch.log(u) - (u + 1) * torch.log((u + 1) / 2), mask, "token_mean")


def released_alpha(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """The released rehearsal loss `alpha`: (u^(1-a) - (1-a) u - a)/(a (a-1)) at a = 0.2, by a power of u.

    Shapes, value and source are those of `released_forward`; nan if u overflows.
    """
    u, alpha = torch.exp(log_pi - log_ref), 0.2
    values = (u ** (1 - alpha) - (1 - alpha) * u - alpha) / (alpha * (alpha - 1))
    return reduced(values, mask, "token_mean")


def dph_loss(exploration: Tensor, rehearsal: Tensor, eta: float) -> Tensor:
    """Loss of DPH, exploration + eta rehearsal; at eta = 0 the exploration alone.

    Both losses are scalars. Raises ValueError for tensors that are not floating scalars, and for an eta that
    is negative or not finite. Source: li2025choice.
    """
    floats("exploration", exploration, ())
    floats("rehearsal", rehearsal, ())
    if not 0 <= eta < math.inf:
        raise argument_error("eta", eta, "a finite number, at least 0")
    # Not 0 times the rehearsal, which is nan for an infinite rehearsal.
    return exploration if eta == 0 else exploration + eta * rehearsal
