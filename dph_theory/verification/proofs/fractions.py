"""Exact fractions of polynomials in named quantities, what is known of these, and what follows from it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import z3
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


EFFORT = 400_000
"""z3's own count of steps for one question: about a second, and the same answer on every machine."""


class Formulas:
    """Formulas that are written when they are asked for: most claims are settled without."""

    def __init__(self) -> None:
        self._written: list[z3.BoolRef] = []
        self._unwritten: list[Callable[[], Iterable[z3.BoolRef]]] = []

    def add(self, write: Callable[[], Iterable[z3.BoolRef]]) -> None:
        """Formulas to be written later."""
        self._unwritten.append(write)

    def written(self) -> list[z3.BoolRef]:
        """All of them, written once; to write one may lead to questions, which the others then answer."""
        while self._unwritten:
            self._written += self._unwritten.pop(0)()
        return self._written


class Facts:
    """Formulas that hold on the domain; a question is decided by looking for a point that breaks it."""

    def __init__(self) -> None:
        self.needed = Formulas()
        """What defines the domain and the quantities."""
        self.helpful = Formulas()
        """What holds besides, such as e^m >= 1 + m; asked only where the rest does not settle a question."""
        self.positive: set[int] = set()
        """Quantities known to be positive."""
        self._signs: dict[str, int] = {}
        """Signs found, of polynomials as text: what follows from some facts follows from more."""

    def add_positive(self, index: int) -> None:
        """Hold a quantity for positive."""
        self.positive.add(index)
        self.needed.add(lambda: [term(generator(index)) > 0])

    def follows(self, formula: z3.BoolRef) -> bool | None:
        """Whether the formula holds on the domain; None if z3 gives up, False if a point breaks it."""
        broken = self._breaks(formula, self.needed.written())
        if broken == z3.unsat:
            return True
        helpful = self.helpful.written()
        if helpful and self._breaks(formula, self.needed.written() + helpful) == z3.unsat:
            return True
        return False if broken == z3.sat else None

    def sign(self, polynomial: fmpq_mpoly) -> int:
        """1 or -1 if the polynomial is positive or negative on the whole domain, else 0."""
        signs = {1 if coefficient > 0 else -1 for coefficient, _ in terms(polynomial)}
        known = all(set(exponents) <= self.positive for _, exponents in terms(polynomial))
        if known and len(signs) == 1:
            return signs.pop()
        key = str(polynomial)
        if key not in self._signs:
            value = term(polynomial)
            found = 1 if self.follows(value > 0) else -1 if self.follows(value < 0) else 0
            if not found:
                return 0
            self._signs[key] = found
        return self._signs[key]

    def nowhere_zero(self, polynomial: fmpq_mpoly) -> bool:
        """Whether the polynomial has no zero on the domain."""
        return bool(self.sign(polynomial)) or self.follows(term(polynomial) != 0) is True

    @staticmethod
    def _breaks(formula: z3.BoolRef, facts: Iterable[z3.BoolRef]) -> z3.CheckSatResult:
        solver = z3.SolverFor("QF_NRA")
        solver.set("rlimit", EFFORT)
        solver.add(*facts, z3.Not(formula))
        return solver.check()


def term(polynomial: fmpq_mpoly) -> z3.ArithRef:
    """The polynomial as a term of z3."""
    products = []
    for coefficient, exponents in terms(polynomial):
        powers = [_power(index, exponent) for index, exponent in exponents.items()]
        if coefficient != 1 or not powers:
            powers.append(z3.Q(int(coefficient.p), int(coefficient.q)))
        products.append(z3.Product(powers))
    return z3.Sum(products) if products else z3.RealVal(0)


@cache
def _power(index: int, exponent: int) -> z3.ArithRef:
    quantity = z3.Real(f"g{index}")
    return quantity if exponent == 1 else quantity**exponent


def related(sign: str, value: z3.ArithRef) -> z3.BoolRef:
    """The formula that a value obeys the sign of a claim."""
    return {"=0": value == 0, ">0": value > 0, ">=0": value >= 0, "!=0": value != 0}[sign]
