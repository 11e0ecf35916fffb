"""Exact fractions of polynomials in named quantities, with what is known of each quantity.

A quantity is a symbol, or a value such as log(1 + x), e^(1/b), sqrt(q), max(p, q) that stands for itself.
The arithmetic is python-flint's; nothing here is sympy's.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx, fmpz

MOST = 40
"""Quantities in one claim."""
_RING = fmpq_mpoly_ctx.get([f"g{i}" for i in range(MOST)], Ordering.lex)
ZERO, ONE = _RING.constant(0), _RING.constant(1)


class OutOfReachError(Exception):
    """The claim is not one that this decider reaches; the message says what it met."""


@dataclass(frozen=True)
class Fraction:
    """top/bottom in lowest terms."""

    top: fmpq_mpoly
    bottom: fmpq_mpoly = field(default_factory=lambda: ONE)

    def reduced(self) -> "Fraction":
        """The same fraction in lowest terms, the bottom's leading coefficient one."""
        common = self.top.gcd(self.bottom)
        top, bottom = self.top / common, self.bottom / common
        lead = bottom.leading_coefficient()
        return Fraction(top / lead, bottom / lead)

    def __add__(self, other: "Fraction") -> "Fraction":
        return Fraction(
            self.top * other.bottom + other.top * self.bottom, self.bottom * other.bottom
        ).reduced()

    def __sub__(self, other: "Fraction") -> "Fraction":
        return self + Fraction(-other.top, other.bottom)

    def __mul__(self, other: "Fraction") -> "Fraction":
        return Fraction(self.top * other.top, self.bottom * other.bottom).reduced()

    def __truediv__(self, other: "Fraction") -> "Fraction":
        if other.top.is_zero():
            raise OutOfReachError("a division by zero")
        return Fraction(self.top * other.bottom, self.bottom * other.top).reduced()

    def __pow__(self, exponent: int) -> "Fraction":
        if abs(exponent) > 64:
            raise OutOfReachError(f"the power {exponent}")
        base = self if exponent >= 0 else Fraction(ONE) / self
        return Fraction(base.top ** abs(exponent), base.bottom ** abs(exponent))

    def number(self) -> fmpq | None:
        """The value, if it is a number."""
        return (
            self.top.leading_coefficient()
            if self.top.is_constant() and self.bottom.is_one() and not self.top.is_zero()
            else (fmpq(0) if self.top.is_zero() else None)
        )


def constant(value: fmpq | int) -> Fraction:
    """A number as a fraction."""
    return Fraction(_RING.constant(fmpq(value)))


Key = tuple[Any, ...]
"""What a quantity is, in terms of quantities made before it."""


@dataclass
class Quantities:
    """The quantities of one claim, by what they are; a later one stands before an earlier in the order."""

    keys: dict[Key, int] = field(default_factory=dict)
    relations: dict[int, tuple[int, fmpq_mpoly]] = field(default_factory=dict)
    """For a root r of degree q, r^q = f: r's index, then q and f."""

    def index(self, key: Key, new: Callable[[int], None] = lambda index: None) -> int:
        """The index of a quantity; `new` hears of one not met before."""
        if key not in self.keys:
            if len(self.keys) == MOST:
                raise OutOfReachError(f"more than {MOST} quantities")
            # The order puts later quantities first, so that roots reduce to what they are roots of.
            self.keys[key] = MOST - 1 - len(self.keys)
            new(self.keys[key])
        return self.keys[key]

    def reduce(self, polynomial: fmpq_mpoly) -> fmpq_mpoly:
        """The polynomial with every power r^q of a root replaced by what it is."""
        for index in sorted(self.relations):
            degree, radicand = self.relations[index]
            _, polynomial = divmod(polynomial, generator(index) ** degree - radicand)
        return polynomial


def generator(index: int) -> fmpq_mpoly:
    """The polynomial that is one quantity."""
    return _RING.gen(index)


def terms(polynomial: fmpq_mpoly) -> Iterator[tuple[fmpq, dict[int, int]]]:
    """Each term's coefficient and its exponents by quantity."""
    for exponents, coefficient in polynomial.to_dict().items():
        yield coefficient, {i: int(e) for i, e in enumerate(exponents) if e}


def monomial(exponents: dict[int, int]) -> fmpq_mpoly:
    """The product of these powers."""
    product = ONE
    for index, exponent in exponents.items():
        product = product * generator(index) ** exponent
    return product


def factors(polynomial: fmpq_mpoly) -> tuple[fmpq, list[tuple[fmpq_mpoly, int]]]:
    """The constant and the irreducible factors with their powers, each factor's leading coefficient one."""
    content, found = polynomial.factor()
    content, parts = fmpq(content), []
    for factor, power in found:
        lead = factor.leading_coefficient()
        content *= lead**power
        parts.append((factor / lead, power))
    return content, parts


def primes(number: int) -> Iterator[tuple[int, int]]:
    """The prime factors of a positive whole number, with their powers."""
    yield from ((int(prime), power) for prime, power in fmpz(number).factor())
