"""What is known of a claim's quantities, as formulas of z3, and what follows from it on the whole domain."""

from collections.abc import Callable, Iterable
from functools import cache

import z3
from flint import fmpq_mpoly

from .fractions import generator, terms

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
