"""Numerical forms of a generator f: its normalised form g(u) = f(u) - f'(1)(u-1), exact and in float64."""

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import sympy

_DIGITS, _NEAR, _ORDER = 50, 0.7, 30
"""Digits of the exact values; |x| below which a Taylor polynomial in x = log u of that order is summed."""
LOG_RATIOS = tuple(sign * x for x in (1e-6, 1e-3, 0.1, 0.5, 1.0, 3.0, 30.0, 300.0) for sign in (1, -1))
"""Log-ratios at which a form is compared with the generator."""
_TOLERANCE, _LARGEST = 1e-6, 1e300

Pair = tuple[Any, Any]
"""g(e^x) and its derivative in x."""


def exact_form(expression: sympy.Expr, symbol: sympy.Symbol) -> Callable[[Any], Pair]:
    """Map a real number x to (g(e^x), its derivative in x) in mpmath's numbers of 50 digits."""
    slope = sympy.diff(expression, symbol)
    value_at, slope_at = (sympy.lambdify(symbol, part, "mpmath") for part in (expression, slope))

    def form(x: Any) -> Pair:
        with mpmath.workdps(max(_DIGITS, mpmath.mp.dps) + int(abs(x))):
            ratio, linear = mpmath.exp(x), slope_at(mpmath.mpf(1))
            return value_at(ratio) - linear * (ratio - 1), ratio * (slope_at(ratio) - linear)

    return form


def is_above_tangent(exact: Callable[[Any], Pair]) -> bool:
    """True if g(1) = 0 and g >= 0 at the compared log-ratios, as for every normalised convex f."""
    values = [exact(x)[0] for x in (0, *LOG_RATIOS)]
    are_real = all(isinstance(value, mpmath.mpf) for value in values)
    return are_real and abs(values[0]) < 1e-30 and all(value >= 0 for value in values[1:])


def disagreement(
    form: Callable[[np.ndarray], Pair], exact: Callable[[Any], Pair], log_ratios: Sequence[float] = LOG_RATIOS
) -> str:
    """Describe the largest error of a form in float64; empty if within 1e-6 of the exact form everywhere.

    The value's error is relative to the value, the derivative's to the larger of the two.
    """
    with np.errstate(all="ignore"):
        pairs = zip(*map(np.ravel, form(np.array(log_ratios))), strict=True)
    furthest, gap = "", _TOLERANCE
    for x, pair in zip(log_ratios, pairs, strict=True):
        value, slope = map(float, exact(x))
        scales = (abs(value), max(abs(value), abs(slope)))
        for computed, true, scale in zip(map(float, pair), (value, slope), scales, strict=True):
            off = abs(computed - true) / (scale or 1)
            if abs(true) < _LARGEST and not off <= gap:
                furthest, gap = f"at log u = {x:g} it gives {computed:.6g}, the generator {true:.6g}", off
    return furthest


def derived_form(expression: sympy.Expr, symbol: sympy.Symbol) -> Callable[[Any, Any], Pair]:
    """Map (xp, x) with x <= 0 to (g(e^x), its derivative in x), computed in float64 from f alone.

    Near 0 the Taylor polynomial in x is summed; elsewhere f's expression in x is evaluated.
    """
    x = sympy.Symbol("x", real=True)
    linear = sympy.diff(expression, symbol).subs(symbol, 1)
    inner = expression.subs(symbol, sympy.exp(x)) - linear * (sympy.exp(x) - 1)
    expanded = sympy.lambdify(x, [part.evalf(20) for part in (inner, sympy.diff(inner, x))], "numpy")
    with mpmath.workdps(_DIGITS):
        taylor = mpmath.taylor(lambda at: exact_form(expression, symbol)(at)[0], 0, _ORDER)
    near = np.polynomial.Polynomial([0.0, 0.0, *map(float, taylor[2:])])
    slope_near = near.deriv()

    def form(xp: Any, log_ratio: Any) -> Pair:
        at = np.asarray(log_ratio.detach().cpu() if hasattr(log_ratio, "detach") else log_ratio, float)
        is_near = np.abs(at) < _NEAR
        inside = np.where(is_near, at, 0.0)
        with np.errstate(all="ignore"):
            parts = zip(
                (near(inside), slope_near(inside)), expanded(np.where(is_near, -1.0, at)), strict=True
            )
        pair = [np.where(is_near, close, apart) for close, apart in parts]
        if xp is np:
            return pair[0], pair[1]
        value, slope = (xp.as_tensor(part, dtype=log_ratio.dtype, device=log_ratio.device) for part in pair)
        return value, slope

    return form
