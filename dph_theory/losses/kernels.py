"""Fast forms, in torch, of the generators that losses use most: f(e^x) and d/dx f(e^x) on the whole line.

Each agrees with `FDivergence.on_log_ratio`, which serves every other divergence and gauge. Here there are
no branches and few temporaries (x itself is used up): where a form cancels near x = 0 a series takes over
by multiplying with 0 and 1, and both factors of a product are kept finite wherever the other may vanish.
"""

import math
from collections.abc import Callable
from functools import cache, partial
from typing import TypeAlias

import torch
from torch import Tensor

from ..divergences import FORWARD_KL, HELLINGER, JENSEN_SHANNON, REVERSE_KL
from ..fdivergence import FDivergence

Form: TypeAlias = Callable[[Tensor], tuple[Tensor, Tensor]]

_SERIES = {torch.float32: (0.3, 6), torch.float64: (0.5, 16)}
"""By dtype, the half-width of the series' interval and how many terms reach its precision there."""


def generator(divergence: FDivergence, gauge: str | float) -> Form:
    """The function x -> (f(e^x), its derivative in x) for float32 or float64 tensors x."""
    fast = _FAST.get((divergence, gauge)) or _alpha_form(divergence, gauge)
    return fast or partial(_declared, divergence=divergence, gauge=gauge)


def _declared(x: Tensor, divergence: FDivergence, gauge: str | float) -> tuple[Tensor, Tensor]:
    """The divergence's own form, in float64: a number as gauge may cancel most of f."""
    value, slope = divergence.on_log_ratio(x.double(), gauge=gauge)
    return value.to(x.dtype), slope.to(x.dtype)


def forward_printed(x: Tensor) -> tuple[Tensor, Tensor]:
    """-x and -1."""
    return torch.neg(x), torch.full_like(x, -1.0)


def forward_normalised(x: Tensor) -> tuple[Tensor, Tensor]:
    """e^x - 1 - x, known as k3, and e^x - 1."""
    slope = torch.expm1(x)
    return _mended(x, slope - x, 0.0), slope


def reverse_printed(x: Tensor) -> tuple[Tensor, Tensor]:
    """The products x e^x and (1+x) e^x, e^x in two halves, so that it vanishes no sooner than the product."""
    root = (x / 2).exp_()
    slope = (x + 1).mul_(root).mul_(root)
    return x.mul_(root).mul_(root), slope


def reverse_normalised(x: Tensor) -> tuple[Tensor, Tensor]:
    """(x-1) e^x + 1 and x e^x."""
    root = (x / 2).exp_()
    value = _mended(x, (root * (x - 1)).mul_(root).add_(1), 1.0)
    return value, x.mul_(root).mul_(root)


def jensen_shannon(x: Tensor) -> tuple[Tensor, Tensor]:
    """(1 + e^x) j and e^x (min(x, 0) + |m| - log cosh m), with m = x/2 and j = |m| tanh|m| - log cosh m.

    The bracket j is even and loses at most a factor of two to its subtraction. With e = e^|m| - 1 it is
    cosh m - 1 = e^2/(2(1+e)) and tanh|m| = (e^2+2e)/(e^2+2e+2). From |m| = 20 on j is log 2.
    """
    m = x.abs().mul_(0.5).clamp_(max=20.0)
    e = torch.expm1(m)
    bracket = (e + 2).mul_(e)
    log_cosh = e * e
    log_cosh.div_(e.add_(1).mul_(2)).log1p_()
    del e
    bracket.div_(bracket + 2).mul_(m).sub_(log_cosh)
    root = (x / 2).exp_()
    slope = x.clamp_(max=0.0).add_(m).sub_(log_cosh).mul_(root).mul_(root)
    del m, log_cosh
    return torch.addcmul(bracket, root, root * bracket), slope


def squared_root(x: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """Scale times (sqrt u - 1)^2 and its slope sqrt u (sqrt u - 1): Hellinger, and twice it for alpha 1/2."""
    change, root = (x / 2).expm1_(), (x / 2).exp_()
    return (change * change).mul_(scale), root.mul_(change).mul_(scale)


def alpha_power(x: Tensor, alpha: float, rest: float) -> tuple[Tensor, Tensor]:
    """The alpha-divergence, alpha not near 0 or 1: with r = 1 - alpha, `rest`, the slope is (u - u^r)/alpha.

    f = slope - (u^r - 1)/r, of which alpha <= 1/2 takes the common factor u^r out.
    """
    if alpha > 0.5:
        # Where u overflows so does f; a larger x would only oppose two infinities.
        x.clamp_(max=1.1 * math.log(torch.finfo(x.dtype).max))
    excess, power = (alpha * x).expm1_(), (rest * x).exp_()
    slope = (excess * power).div_(alpha)
    if alpha > 0.5:
        far = slope - (rest * x).expm1_().div_(rest)
    else:
        far = excess.div_(alpha).sub_(1 / rest).mul_(power).add_(1 / rest)
    del power
    return _mended(x, far, rest), slope


def _mended(x: Tensor, far: Tensor, rest: float) -> Tensor:
    """The far form with the series of the normalised alpha-generator in its place near x = 0.

    (r(e^x - 1 - x) - (e^{rx} - 1 - rx))/(alpha r) = sum_k x^k/k! (1 + r + ... + r^{k-2}), which at r = 0 is
    the forward and at r = 1 the reverse KL.
    """
    width, terms = _SERIES[x.dtype]
    first, *others = _coefficients(rest, terms)
    inside = x.clamp(-width, width)
    series = inside * first
    for coefficient in others[:-1]:
        series.add_(coefficient).mul_(inside)
    series.add_(others[-1]).mul_(inside).mul_(inside)
    # One outside of the interval, else zero; there `far` is finite.
    outside = inside.ne_(x)
    return far.sub_(series).mul_(outside).add_(series)


@cache
def _coefficients(rest: float, terms: int) -> tuple[float, ...]:
    """The series' coefficients of x^2 and up, highest first."""
    return tuple(
        math.fsum(rest**i for i in range(k - 1)) / math.factorial(k) for k in range(terms + 1, 1, -1)
    )


def _alpha_form(divergence: FDivergence, gauge: str | float) -> Form | None:
    """The fast form if this is an alpha-divergence in its own gauge, f'(1) = 0, and alpha is not extreme."""
    # The reverse divergence knows 1 - alpha to the last bit, which e^{rx} makes a matter of many bits.
    alpha, rest = divergence.alpha, divergence.reversed.alpha
    if alpha is None or rest is None or gauge not in ("printed", "normalised") or not 0.05 <= alpha <= 0.95:
        return None
    if alpha == 0.5:
        return partial(squared_root, scale=2.0)
    return partial(alpha_power, alpha=alpha, rest=rest)


_FAST: dict[tuple[FDivergence, str | float], Form] = {
    (FORWARD_KL, "printed"): forward_printed,
    (FORWARD_KL, "normalised"): forward_normalised,
    (REVERSE_KL, "printed"): reverse_printed,
    (REVERSE_KL, "normalised"): reverse_normalised,
    (JENSEN_SHANNON, "printed"): jensen_shannon,
    (JENSEN_SHANNON, "normalised"): jensen_shannon,
    (HELLINGER, "printed"): partial(squared_root, scale=1.0),
    (HELLINGER, "normalised"): partial(squared_root, scale=1.0),
}
