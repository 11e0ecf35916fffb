"""A symbolic expression in complex balls: its value at exact points, with an error that is known.

Derivatives come from power series, not from sympy's rules of differentiation.
"""

from collections.abc import Callable, Mapping
from functools import cache, reduce
from math import factorial
from operator import add, mul

import sympy
from flint import acb, acb_series, arb, fmpq
from sympy.core.function import AppliedUndef

from ...numeric.balls import precision

Point = Mapping[sympy.Symbol, fmpq]
"""A rational value for each symbol."""
Place = Mapping[sympy.Symbol, fmpq | acb]
"""The same with balls, which what is substituted in an expression may be."""

PRECISIONS = (200, 800, 3200)
"""Bits, tried in turn until the value is known to 50 digits."""
NEGLIGIBLE = arb("1e-50")
"""A value is known if its ball is no wider than this, or no wider than this part of the value."""

_FUNCTIONS: dict[type[sympy.Expr], Callable[..., acb]] = {
    sympy.exp: acb.exp,
    sympy.log: acb.log,
    sympy.cosh: acb.cosh,
    sympy.sinh: acb.sinh,
    sympy.tanh: acb.tanh,
    sympy.asinh: acb.asinh,
    sympy.sin: acb.sin,
    sympy.cos: acb.cos,
    sympy.gamma: acb.gamma,
    sympy.factorial: lambda n: (n + 1).gamma(),
    sympy.binomial: lambda n, k: (n + 1).gamma() * (k + 1).rgamma() * (n - k + 1).rgamma(),
    sympy.Abs: lambda z: acb(abs(z)),
    sympy.Max: lambda *values: acb(reduce(arb.max, (value.real for value in values))),
    sympy.Min: lambda *values: acb(reduce(arb.min, (value.real for value in values))),
    sympy.Pow: lambda base, exponent: acb(0) if base.is_zero() and exponent.real > 0 else base**exponent,
    sympy.Add: lambda *terms: reduce(add, terms),
    sympy.Mul: lambda *factors: reduce(mul, factors),
}
_CONSTANTS: dict[sympy.Expr, Callable[[], acb]] = {
    sympy.E: lambda: acb(1).exp(),
    sympy.pi: acb.pi,
    sympy.I: lambda: acb(0, 1),
}


_SERIES: dict[type[sympy.Expr], Callable[..., acb_series]] = {
    sympy.exp: acb_series.exp,
    sympy.log: acb_series.log,
    sympy.cosh: lambda x: (x.exp() + (-x).exp()) / 2,
    sympy.Pow: pow,
    sympy.Add: lambda *terms: reduce(add, terms),
    sympy.Mul: lambda *factors: reduce(mul, factors),
}
"""The same for power series."""
_LONGEST = 9
"""The highest derivative: flint's series have ten terms."""


class NotEvaluatedError(Exception):
    """The expression holds a function that has no value in balls, such as an undetermined one."""


def value(expression: sympy.Expr, point: Place) -> acb:
    """The ball of the expression at the point, to 50 digits where a few thousand bits reach them.

    Not finite where the expression is not defined. Raises NotEvaluatedError for functions unknown here.
    """
    ball = acb()
    for bits in PRECISIONS:
        with precision(bits):
            ball = _value(expression, point)
            if is_known(ball):
                break
    return ball


def is_known(ball: acb) -> bool:
    """Whether the ball is finite and of a negligible radius, absolutely or relative to the value."""
    if not ball.is_finite():
        return False
    radius = ball.real.rad() + ball.imag.rad()
    return bool(radius < NEGLIGIBLE) or bool(radius < NEGLIGIBLE * abs(ball))


def _value(expression: sympy.Expr, point: Place) -> acb:
    if isinstance(expression, sympy.Symbol):
        return acb(point[expression])
    if isinstance(expression, sympy.Rational):
        return acb(fmpq(int(expression.p), int(expression.q)))
    if expression in _CONSTANTS:
        return _CONSTANTS[expression]()
    if isinstance(expression, sympy.Derivative):
        return _derivative(point, *expression.args)
    if isinstance(expression, sympy.Subs):
        of, symbols, values = expression.args
        if len(symbols) > 1:
            raise NotEvaluatedError("a substitution of several symbols")
        return _value(of, {**point, symbols[0]: _value(values[0], point)})
    if isinstance(expression, AppliedUndef):
        return _value(undetermined(expression), point)
    if expression.func not in _FUNCTIONS:
        raise NotEvaluatedError(str(expression.func))
    return _FUNCTIONS[expression.func](*(_value(argument, point) for argument in expression.args))


def undetermined(call: sympy.Expr) -> sympy.Expr:
    """cosh(1 + x + ...), which stands for an undetermined f(x, ...): as good as any."""
    return sympy.cosh(1 + sum(call.args))


def _derivative(point: Place, of: sympy.Expr, *variables: sympy.Tuple) -> acb:
    if len(variables) > 1 or (times := int(variables[0][1])) > _LONGEST:
        raise NotEvaluatedError("a derivative in several variables, or of a high order")
    return _series(of, variables[0][0], point, times + 1)[times] * factorial(times)


_symbols = cache(lambda expression: expression.free_symbols)
"""The symbols that an expression has, counted once."""


def _series(expression: sympy.Expr, symbol: sympy.Symbol, point: Place, length: int) -> acb_series:
    """The power series of the expression in the symbol, about its value at the point."""
    if expression == symbol:
        return acb_series([acb(point[symbol]), 1], length)
    if symbol not in _symbols(expression):
        return acb_series([_value(expression, point)], length)
    if isinstance(expression, AppliedUndef):
        return _series(undetermined(expression), symbol, point, length)
    if expression.func not in _SERIES:
        raise NotEvaluatedError(f"a derivative of {expression.func}")
    return _SERIES[expression.func](*(_series(a, symbol, point, length) for a in expression.args))
