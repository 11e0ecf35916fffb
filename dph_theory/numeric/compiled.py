"""Sympy expressions in one symbol as functions of float arrays or of balls."""

from collections.abc import Callable
from functools import cache
from typing import Any

import sympy
from flint import arb
from sympy.printing.numpy import NumPyPrinter


class _BallPrinter(NumPyPrinter):
    """Prints constants as balls, so that neither 1/5 nor log 2 is rounded to a float on the way.

    Whole powers become products: a power of a ball that contains zero is nan.
    """

    def _print_Rational(self, expr: sympy.Rational) -> str:  # noqa: N802
        return f"(arb({expr.p})/{expr.q})"

    _print_Integer = _print_Half = _print_One = _print_NegativeOne = _print_Rational  # noqa: N815

    def _print_Pow(self, expr: sympy.Pow, rational: bool = False) -> str:  # noqa: N802
        if expr.exp.is_Integer and expr.exp > 0:
            # In parentheses, since a negative power prints this as the divisor.
            return "(" + "*".join([f"({self._print(expr.base)})"] * int(expr.exp)) + ")"
        return super()._print_Pow(expr, rational=rational)


@cache
def compiled(expression: sympy.Expr, symbol: sympy.Symbol, balls: bool) -> Callable[[Any], Any]:
    """The expression as a function of one array: of floats, or of exact balls."""
    if balls:
        return sympy.lambdify(symbol, expression, modules=[{"arb": arb}, "numpy"], printer=_BallPrinter)
    return sympy.lambdify(symbol, expression, modules="numpy")
