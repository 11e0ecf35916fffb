"""A sympy expression read, node by node, into an exact fraction of quantities; no algorithm of sympy runs."""

from collections.abc import Callable, Iterator
from functools import reduce
from operator import add, mul

import sympy
import z3
from flint import fmpq, fmpq_mpoly
from sympy.core.function import AppliedUndef

from .fractions import (
    ONE,
    Facts,
    Fraction,
    OutOfReachError,
    Quantities,
    constant,
    factors,
    generator,
    monomial,
    primes,
    related,
    term,
    terms,
)


class RestartError(Exception):
    """A root of a higher degree is needed of something whose lower root was in use: read again."""


class Translation:
    """The quantities of a claim, what is known of them, and functions of them."""

    def __init__(self, degrees: dict[str, int]) -> None:
        self.quantities = Quantities()
        self.facts = Facts()
        self.degrees = degrees
        """The degree of the root that is taken of each polynomial, shared by all its roots."""
        self.symbols: set[int] = set()
        self.meaning: dict[int, tuple[str, Fraction]] = {}
        """What a quantity is of: ("log", f), ("exp", m) or ("root", f)."""

    def symbol(self, symbol: sympy.Symbol) -> int:
        """A symbol's quantity, with what its assumptions say."""

        def declare(index: int) -> None:
            self.symbols.add(index)
            if symbol.is_positive:
                self.facts.add_positive(index)
                if symbol.is_integer:
                    self.facts.needed.add(lambda: [term(generator(index)) >= 1])
            else:
                self.facts.needed.add(lambda: _assumed(symbol, term(generator(index))))

        return self.quantities.index(("symbol", symbol.name), declare)

    def inverse(self, value: Fraction) -> Fraction:
        """1/value, for a value that has no zero on the domain."""
        if not self.facts.nowhere_zero(value.top):
            raise OutOfReachError(f"a division by {value.top}, which may vanish")
        return Fraction(ONE) / value

    def power(self, base: Fraction, exponent: Fraction) -> Fraction:
        """base^exponent; the base must be positive unless the exponent is a whole number."""
        number = exponent.number()
        if number is not None and number.q == 1:
            return (self.inverse(base) if number < 0 else base) ** abs(int(number.p))
        return self.exponential(self.logarithm(base) * exponent)

    def logarithm(self, value: Fraction) -> Fraction:
        """log of a value that is positive on the whole domain."""
        if self.facts.sign(value.top * value.bottom) <= 0:
            raise OutOfReachError(f"log of ({value.top})/({value.bottom}), which may not be positive")
        total = constant(0)
        for polynomial, sign in ((value.top, 1), (value.bottom, -1)):
            content, parts = factors(polynomial)
            for number, turn in ((int(content.p), sign), (int(content.q), -sign)):
                for prime, power in primes(abs(number)):
                    total = total + self._log_of(ONE * prime) * constant(turn * power)
            for part, power in parts:
                total = total + self._log_of(part) * constant(sign * power)
        return total

    def _log_of(self, factor: fmpq_mpoly) -> Fraction:
        """log|factor|, of a prime number or an irreducible polynomial."""
        kind, inner = self.meaning.get(_sole(factor), ("", constant(0)))
        if kind == "exp":
            return inner
        if kind == "root":
            degree, _ = self.quantities.relations[_sole(factor)]
            return self.logarithm(inner) * constant(fmpq(1, degree))

        def declare(index: int) -> None:
            self.meaning[index] = ("log", Fraction(factor))
            self.facts.helpful.add(lambda: order(index))

        def order(index: int) -> Iterator[z3.BoolRef]:
            if self.facts.sign(factor) <= 0:
                return
            value, of = term(generator(index)), term(factor)
            yield value <= of - 1
            yield from _same_order(of, z3.RealVal(1), value, z3.RealVal(0))
            for other, argument in self._all("log", below=index):
                yield from _same_order(of, term(argument.top), value, term(generator(other)))

        return Fraction(generator(self.quantities.index(("log", str(factor)), declare)))

    def _all(self, kind: str, below: int) -> list[tuple[int, Fraction]]:
        """Earlier quantities of a kind, with what they are of; of logarithms those of what is positive."""
        found = [(i, of) for i, (name, of) in self.meaning.items() if name == kind and i < below]
        return [(i, of) for i, of in found if kind != "log" or self.facts.sign(of.top) > 0]

    def exponential(self, value: Fraction) -> Fraction:
        """e^value, a product over the terms of the value."""
        product = constant(1)
        for coefficient, exponents in terms(value.top):
            product = product * self._exp_of(
                Fraction(monomial(exponents), value.bottom).reduced(), coefficient
            )
        return product

    def _exp_of(self, part: Fraction, coefficient: fmpq) -> Fraction:
        """e^(coefficient part), where the part is a product of quantities over a polynomial."""
        lead = part.top.leading_coefficient()
        part, coefficient = Fraction(part.top / lead, part.bottom), coefficient * lead
        sole = _sole(part.top) if part.bottom.is_one() else -1
        kind, inner = self.meaning.get(sole, ("", part))
        if kind == "log":
            return self._root_power(inner.top, coefficient)

        def declare(index: int) -> None:
            self.meaning[index] = ("exp", part)
            self.facts.add_positive(index)
            self.facts.helpful.add(lambda: order(index))

        def order(index: int) -> Iterator[z3.BoolRef]:
            value, of = term(generator(index)), term(part.top * part.bottom)
            yield (value - 1) * term(part.bottom**2) >= of
            yield from _same_order(of, z3.RealVal(0), value, z3.RealVal(1))
            for other, less in self._all("exp", below=index):
                gap = part - less
                ahead = term(gap.top * gap.bottom)
                yield from _same_order(ahead, z3.RealVal(0), value, term(generator(other)))

        index = self.quantities.index(("exp", str(part.top), str(part.bottom)), declare)
        return self._root_power(generator(index), coefficient)

    def _root_power(self, factor: fmpq_mpoly, exponent: fmpq) -> Fraction:
        """|factor|^exponent, by way of the root whose degree is the exponent's denominator."""
        if int(exponent.q) == 1:
            sign = self.facts.sign(factor)
            if not sign:
                raise OutOfReachError(f"|{factor}|, whose sign may change")
            return Fraction(factor * sign) ** int(exponent.p)
        degree = self.degrees.setdefault(str(factor), int(exponent.q))
        if degree % int(exponent.q):
            self.degrees[str(factor)] = degree * int(exponent.q)
            raise RestartError
        sign = self.facts.sign(factor)
        if not sign:
            raise OutOfReachError(f"a root of {factor}, whose sign may change")

        def declare(index: int) -> None:
            self.meaning[index] = ("root", Fraction(factor * sign))
            self.facts.add_positive(index)
            self.facts.needed.add(lambda: [term(generator(index) ** degree) == term(factor * sign)])
            self.quantities.relations[index] = (degree, factor * sign)

        index = self.quantities.index(("root", str(factor)), declare)
        return Fraction(generator(index)) ** int(exponent * degree)

    def derivative(self, value: Fraction, index: int) -> Fraction:
        """The derivative by a symbol's quantity, through logarithms, exponentials and roots."""
        total, square = constant(0), Fraction(value.bottom**2)
        for inner in self.quantities.keys.values():
            top = value.top.derivative(inner) * value.bottom - value.top * value.bottom.derivative(inner)
            if not top.is_zero():
                total = total + Fraction(top) / square * self._slope(inner, index)
        return total

    def _slope(self, inner: int, index: int) -> Fraction:
        kind, of = self.meaning.get(inner, ("symbol" if inner in self.symbols else "", constant(0)))
        if kind == "symbol":
            return constant(int(inner == index))
        if kind == "log":
            return self.derivative(of, index) / of
        if kind == "exp":
            return Fraction(generator(inner)) * self.derivative(of, index)
        if kind == "root":
            degree, _ = self.quantities.relations[inner]
            return Fraction(generator(inner)) * self.derivative(of, index) / (of * constant(degree))
        raise OutOfReachError("the derivative of a maximum or of an undetermined function")

    def substituted(self, value: Fraction, index: int, by: Fraction) -> Fraction:
        """The fraction with a symbol's quantity replaced, in logarithms, exponentials and roots as well."""
        images: dict[int, Fraction] = {}

        def at(polynomial: fmpq_mpoly) -> Fraction:
            total = constant(0)
            for coefficient, exponents in terms(polynomial):
                product = constant(coefficient)
                for inner, exponent in exponents.items():
                    images[inner] = images.get(inner) or self._image(inner, index, by)
                    product = product * images[inner] ** exponent
                total = total + product
            return total

        return at(value.top) * self.inverse(at(value.bottom))

    def _image(self, inner: int, index: int, by: Fraction) -> Fraction:
        if inner in self.symbols:
            return by if inner == index else Fraction(generator(inner))
        if inner not in self.meaning:
            raise OutOfReachError("a substitution in a maximum or in an undetermined function")
        kind, of = self.meaning[inner]
        replaced = self.substituted(of, index, by)
        if kind == "root":
            degree, _ = self.quantities.relations[inner]
            return self.power(replaced, constant(fmpq(1, degree)))
        return self.logarithm(replaced) if kind == "log" else self.exponential(replaced)

    def undetermined(self, name: str, arguments: list[Fraction]) -> Fraction:
        """f(arguments) of an undetermined function: one quantity for equal arguments."""
        key = (name, *((str(value.top), str(value.bottom)) for value in arguments))
        return Fraction(generator(self.quantities.index(key)))

    def highest(self, *values: Fraction) -> Fraction:
        """The maximum, a quantity that is one of the values and below none."""

        def declare(index: int) -> None:
            gaps = [Fraction(generator(index)) - value for value in values]
            product = reduce(mul, (gap.top for gap in gaps))
            self.facts.needed.add(
                lambda: [*(term(gap.top * gap.bottom) >= 0 for gap in gaps), term(product) == 0]
            )

        key = ("max", *sorted((str(value.top), str(value.bottom)) for value in values))
        return Fraction(generator(self.quantities.index(key, declare)))


def _assumed(symbol: sympy.Symbol, value: z3.ArithRef) -> list[z3.BoolRef]:
    """What the assumptions of a symbol that may not be positive say of its value."""
    formulas = (
        (symbol.is_nonnegative, value >= 0),
        (symbol.is_negative, value < 0),
        (symbol.is_nonpositive, value <= 0),
        (symbol.is_zero is False, value != 0),
    )
    return [formula for holds, formula in formulas if holds]


def _same_order(*values: z3.ArithRef) -> list[z3.BoolRef]:
    """The first two stand to each other as the last two do."""
    first, second, third, fourth = values
    return [(first > second) == (third > fourth), (first < second) == (third < fourth)]


def _sole(polynomial: fmpq_mpoly) -> int:
    """The index of the quantity that the polynomial is; -1 if it is not one."""
    found = list(terms(polynomial))
    if len(found) == 1 and found[0][0] == 1 and list(found[0][1].values()) == [1]:
        return next(iter(found[0][1]))
    return -1


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
