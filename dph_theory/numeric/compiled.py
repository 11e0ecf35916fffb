"""Sympy expressions in one symbol as functions of float arrays."""

from collections.abc import Callable
from functools import cache
from typing import Any

import sympy


@cache
def compiled(expression: sympy.Expr, symbol: sympy.Symbol) -> Callable[[Any], Any]:
    """Compile a sympy expression to a function of one numpy array, elementwise."""
    return sympy.lambdify(symbol, expression, modules="numpy")
