"""A sympy expression read, node by node, into an exact fraction of quantities; no algorithm of sympy runs."""

from collections.abc import Callable
from functools import reduce
from operator import add, mul

import sympy
from flint import fmpq
from sympy.core.function import AppliedUndef

from .facts import related, term
from .fractions import Fraction, OutOfReachError, constant, generator
from .translation import Translation


def read(into: Translation, expression: sympy.Expr) -> Fraction:
    """The expression as a fraction of quantities. Raises OutOfReachError for what has none."""
    if isinstance(expression, sympy.Symbol):
        return Fraction(generator(into.symbol(expression)))
    if isinstance(expression, sympy.Rational):
        return constant(fmpq(int(expression.p), int(expression.q)))
    if expression is sympy.E:
        return into.exponential(constant(1))
    if expression.func is sympy.Derivative:
        return _derivative(into, *expression.args)
    if expression.func is sympy.Subs:
        return _substitution(into, *expression.args)
    arguments = [read(into, argument) for argument in expression.args]
    if isinstance(expression, AppliedUndef):
        return into.undetermined(expression.func.__name__, arguments)
    if expression.func not in _READERS:
        raise OutOfReachError(f"the function {expression.func.__name__}")
    return _READERS[expression.func](into, *arguments)


def assume(into: Translation, condition: sympy.Rel) -> None:
    """Hold a condition of a claim for true."""
    sign, turned = _CONDITIONS[condition.func]
    gap = read(into, condition.lhs) - read(into, condition.rhs)
    into.facts.needed.add(lambda: [related(sign, turned * term(gap.top * gap.bottom))])


def _derivative(into: Translation, of: sympy.Expr, *variables: sympy.Tuple) -> Fraction:
    value = read(into, of)
    for symbol, times in variables:
        for _ in range(int(times)):
            value = into.derivative(value, into.symbol(symbol))
    return value


def _substitution(into: Translation, of: sympy.Expr, names: sympy.Tuple, values: sympy.Tuple) -> Fraction:
    (symbol,), (value,) = names, values
    # Read the expression first: what it assumes of the symbol, such as a positive one, holds of the value.
    replaced, by = read(into, of), read(into, value)
    if symbol.is_positive and into.facts.sign(by.top * by.bottom) <= 0:
        raise OutOfReachError(f"a value of {symbol} that may not be positive")
    return into.substituted(replaced, into.symbol(symbol), by)


def _hyperbolic(into: Translation, argument: Fraction, sign: int) -> Fraction:
    up = into.exponential(argument)
    return (up + into.inverse(up) * constant(sign)) / constant(2)


def _arsinh(into: Translation, x: Fraction) -> Fraction:
    return into.logarithm(x + into.power(x * x + constant(1), constant(fmpq(1, 2))))


_READERS: dict[type[sympy.Expr], Callable[..., Fraction]] = {
    sympy.Add: lambda into, *terms: reduce(add, terms),
    sympy.Mul: lambda into, *factors: reduce(mul, factors),
    sympy.Pow: Translation.power,
    sympy.exp: Translation.exponential,
    sympy.log: Translation.logarithm,
    sympy.cosh: lambda into, x: _hyperbolic(into, x, 1),
    sympy.sinh: lambda into, x: _hyperbolic(into, x, -1),
    sympy.asinh: _arsinh,
    sympy.Max: Translation.highest,
    sympy.Min: lambda into, *xs: into.highest(*(x * constant(-1) for x in xs)) * constant(-1),
    sympy.Abs: lambda into, x: into.highest(x, x * constant(-1)),
}
"""How each kind of node is made of what was read from its arguments."""

_CONDITIONS = {
    sympy.StrictLessThan: (">0", -1),
    sympy.LessThan: (">=0", -1),
    sympy.StrictGreaterThan: (">0", 1),
    sympy.GreaterThan: (">=0", 1),
    sympy.Unequality: ("!=0", 1),
}
"""The sign that a condition puts on the difference of its sides, times 1 or -1."""
