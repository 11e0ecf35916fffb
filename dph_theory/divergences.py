"""The named f-divergences, one declaration each; `fdivergence` defines the type.

Convention: D_f(pi || ref) = E_ref[f(u)] with u = pi/ref, policy first. So `FORWARD_KL(pi, ref)` is KL(ref ||
pi) and `REVERSE_KL(pi, ref)` is KL(pi || ref).
"""

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import lazy_loader
import numpy as np

from .fdivergence import FDivergence
from .numeric.arrays import is_number
from .numeric.elementary import Values, exp_remainder
from .support.errors import argument_error, choice
from .support.user_code import imported

if TYPE_CHECKING:
    import sympy
else:
    sympy = lazy_loader.load("sympy")

_LOW = -80.0  # Below it e^x is negligible beside 1; clipping avoids 0 * inf.


def _x_exp(xp: Any, x: Any) -> Any:
    """x e^x at any shape, 0 at -inf; `xp` is numpy or torch."""
    return xp.clip(x, -1000.0, None) * xp.exp(x)


def _forward(xp: Any, x: Any) -> tuple[Any, Any]:
    return exp_remainder(x, xp), xp.expm1(x)


def _reverse(xp: Any, x: Any) -> tuple[Any, Any]:
    # u log u - u + 1 = u r(-x), r(x) = e^x - 1 - x.
    bounded = xp.clip(x, _LOW, None)
    return xp.exp(bounded) * exp_remainder(-bounded, xp), _x_exp(xp, x)


def _jensen_shannon(xp: Any, x: Any) -> tuple[Any, Any]:
    # With m the mean of pi and ref and s = log(m/ref): u r(s-x) + r(s), a KL to m from either side. The
    # product with u is made in two halves, which stay finite slightly beyond the range of u.
    s, bounded = xp.log1p(xp.expm1(-xp.abs(x)) / 2), xp.clip(x, _LOW, None)
    half = xp.exp(bounded / 2)
    to_policy = half * (half * exp_remainder(s - xp.clip(bounded, None, 0.0), xp))
    half = xp.exp(x / 2)
    slope = half * (half * (xp.clip(x, -1000.0, 0.0) - s))
    return exp_remainder(s + xp.clip(x, 0.0, None), xp) + to_policy, slope


def _hellinger(xp: Any, x: Any) -> tuple[Any, Any]:
    root = xp.expm1(x / 2)
    return root * root, xp.exp(x / 2) * root


def _pearson(xp: Any, x: Any) -> tuple[Any, Any]:
    change = xp.expm1(x)
    return change * change, 2 * xp.exp(x) * change


def _neyman(xp: Any, x: Any) -> tuple[Any, Any]:
    return -xp.expm1(x) * xp.expm1(-x), 2 * xp.sinh(x)


def _total_variation(xp: Any, x: Any) -> tuple[Any, Any]:
    # At the kink x = 0 the derivative returned is the middle of the subgradient.
    return xp.abs(xp.expm1(x)) / 2, xp.sign(x) * xp.exp(x) / 2


FORWARD_KL: FDivergence = FDivergence(
    "forward_kl",
    lambda u: -sympy.log(u),
    _forward,
    reverse=lambda: REVERSE_KL,
    printed=lambda xp, x: (-x, -xp.ones_like(x)),
    at_one=(-1.0, 1.0),
)
"""KL(ref || pi), f(u) = -log u: mass-covering (li2025choice)."""

REVERSE_KL: FDivergence = FDivergence(
    "reverse_kl",
    lambda u: u * sympy.log(u),
    _reverse,
    reverse=lambda: FORWARD_KL,
    printed=lambda xp, x: (_x_exp(xp, x), (1 + xp.clip(x, -1000.0, None)) * xp.exp(x)),
    at_one=(1.0, 1.0),
)
"""KL(pi || ref), f(u) = u log u: mode-seeking (li2025choice)."""

JENSEN_SHANNON: FDivergence = FDivergence(
    "jensen_shannon",
    lambda u: u * sympy.log(u) - (u + 1) * sympy.log((u + 1) / 2),
    _jensen_shannon,
    reverse=lambda: JENSEN_SHANNON,
    at_one=(0.0, 0.5),
)
"""KL(pi || m) + KL(ref || m) with m = (pi+ref)/2: TWICE the Jensen-Shannon divergence, f''(1) = 1/2.

The generator is f(u) = u log u - (u+1) log((u+1)/2), as in li2025choice.
"""

HELLINGER: FDivergence = FDivergence(
    "hellinger", lambda u: (sympy.sqrt(u) - 1) ** 2, _hellinger, reverse=lambda: HELLINGER, at_one=(0.0, 0.5)
)
"""sum (sqrt pi - sqrt ref)^2, twice the squared Hellinger distance; f''(1) = 1/2."""

CHI_SQUARED: FDivergence = FDivergence(
    "chi_squared", lambda u: (u - 1) ** 2, _pearson, reverse=lambda: NEYMAN_CHI_SQUARED, at_one=(0.0, 2.0)
)
"""Pearson's chi-squared, sum (pi-ref)^2/ref; f''(1) = 2."""

NEYMAN_CHI_SQUARED: FDivergence = FDivergence(
    "neyman_chi_squared", lambda u: (u - 1) ** 2 / u, _neyman, reverse=lambda: CHI_SQUARED, at_one=(0.0, 2.0)
)
"""Neyman's chi-squared, sum (pi-ref)^2/pi: the chi-squared with its arguments exchanged."""

TOTAL_VARIATION: FDivergence = FDivergence(
    "total_variation",
    lambda u: sympy.Abs(u - 1) / 2,
    _total_variation,
    reverse=lambda: TOTAL_VARIATION,
    at_one=(0.0, math.inf),
)
"""Half the L1 distance. The generator has a kink at 1, so its curvature is inf."""


def alpha_divergence(alpha: float) -> FDivergence:
    """Alpha-divergence with generator f(u) = (u^(1-alpha) - (1-alpha)u - alpha)/(alpha(alpha-1)), f''(1) = 1.

    It tends to FORWARD_KL as alpha -> 1 and to REVERSE_KL as alpha -> 0; alpha in (0, 1) is mass-covering.

    Args:
        alpha: Any finite number except 0 and 1.

    Returns:
        The divergence, callable on (policy, reference).

    Raises:
        ValueError: If alpha is 0, 1 or not finite.

    Source: li2025choice, kruszewski2026whatever.
    """
    is_real = is_number(alpha, numbers.Real) and not isinstance(alpha, bool)
    if not is_real or not math.isfinite(alpha) or alpha in (0, 1):
        raise argument_error(
            "alpha", alpha, "any finite number but 0 (there use REVERSE_KL) and 1 (there use FORWARD_KL)"
        )
    return _alpha_divergence(float(alpha))


@cache
def _alpha_divergence(alpha: float) -> FDivergence:
    rest = float(1 - Fraction(repr(alpha)))
    return FDivergence(
        f"alpha_{alpha:g}",
        lambda u: alpha_generator(sympy.Rational(repr(alpha))),
        lambda xp, x: _alpha(xp, x, alpha, rest),
        reverse=lambda: alpha_divergence(rest),
        alpha=alpha,
        at_one=(0.0, 1.0),
    )


def alpha_generator(alpha: Any) -> "sympy.Expr":
    """Generator of the alpha family in u, for a number or a symbol alpha."""
    from .fdivergence import u

    return (u ** (1 - alpha) - (1 - alpha) * u - alpha) / (alpha * (alpha - 1))


def _alpha(xp: Any, x: Any, alpha: float, rest: float) -> tuple[Any, Any]:
    # With r(x) = e^x - 1 - x >= 0 and rest = 1 - alpha the generator is a sum of two remainders of one sign,
    # because their linear parts cancel: no digits are lost near u = 1.
    if alpha > 1:
        # r(y) = h^2 + 2 r(y/2) with h = e^(y/2) - 1: dividing before squaring delays overflow.
        y, scale = rest * x / 2, -alpha * rest
        square = (xp.expm1(y) / math.sqrt(scale)) ** 2
        value = square + exp_remainder(y, xp) * (2 / scale) + exp_remainder(x, xp) / alpha
        # The slope is (u - u^rest)/alpha, written with the larger of its two powers.
        largest = xp.clip(x, 0.0, None) + rest * xp.clip(x, None, 0.0)
        return value, -xp.sign(x) * xp.exp(largest) * (xp.expm1(-alpha * xp.abs(x)) / alpha)
    if alpha > 0:
        t = xp.clip(x, _LOW / rest, None)
        value = xp.exp(rest * t) * (
            exp_remainder(alpha * t, xp) / alpha + exp_remainder(-rest * t, xp) / rest
        )
        return value, xp.exp(rest * x) * (xp.expm1(alpha * x) / alpha)
    t = xp.clip(x, _LOW, None)
    bracket = exp_remainder(-alpha * t, xp) - alpha * exp_remainder(-t, xp)
    return xp.exp(t) / (-alpha * rest) * bracket, xp.exp(x) * (xp.expm1(-alpha * x) / -alpha)


DIVERGENCES: Mapping[str, FDivergence] = MappingProxyType(
    {
        divergence.name: divergence
        for divergence in (
            FORWARD_KL,
            REVERSE_KL,
            JENSEN_SHANNON,
            HELLINGER,
            CHI_SQUARED,
            NEYMAN_CHI_SQUARED,
            TOTAL_VARIATION,
        )
    }
)
"""The parameter-free divergences by name; `alpha_divergence(alpha)` makes the others."""


def named(name: str) -> FDivergence:
    """Return a divergence by name, or a user's by `module:OBJECT`; ValueError if there is none."""
    module, colon, attribute = name.partition(":")
    if colon:
        try:
            divergence = getattr(imported(module), attribute, None)
        except Exception as error:
            allowed = f"module:OBJECT that can be imported ({type(error).__name__}: {error})"
            raise argument_error("divergence", name, allowed) from error
        if not isinstance(divergence, FDivergence):
            raise argument_error("divergence", name, "module:OBJECT, an FDivergence")
        divergence([0.5, 0.5], [0.25, 0.75])  # A wrong declaration is refused at the first use.
        return divergence
    choice("divergence", name, DIVERGENCES)
    return DIVERGENCES[name]


ALPHAS = (0.25, 0.5, 0.75)
"""Members of the mass-covering family, alpha in (0, 1)."""
SMOOTH = (
    *(divergence for divergence in DIVERGENCES.values() if divergence is not TOTAL_VARIATION),
    *map(alpha_divergence, ALPHAS),
)
"""Named divergences with a second derivative, and three alphas; not total variation, which has a kink."""
COMPARED = (FORWARD_KL, REVERSE_KL, JENSEN_SHANNON, alpha_divergence(0.5))
"""The four divergences of li2025choice."""

_Item = TypeVar("_Item")


def stacked(function: Callable[[_Item], Any], items: Iterable[_Item]) -> Values:
    """Values of a function at every item (a divergence, say), stacked on a trailing axis."""
    return np.stack([function(item) for item in items], axis=-1)
