"""Sympy expressions in one symbol as functions of float arrays."""

from collections.abc import Callable
from functools import cache
from typing import Any

import sympy


@cache
def compiled(expression: sympy.Expr, symbol: sympy.Symbol) -> Callable[[Any], Any]:
    """Compile the expression to a function of one array."""
    return sympy.lambdify(symbol, expression, modules="numpy")
