"""What a theorem is: a statement with two sides, instances to try it on, and neighbours that are false."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, wraps
from typing import Any, TypeAlias

import numpy as np
import sympy

from ..references import Source
from ..support.errors import argument_error, choice
from .charts import Chart, Instance
from .reduction import Reduction


class Verdict(StrEnum):
    """What the checks found.

    PROVED: symbolic, for all instances, given the entries that the theorem names. ENCLOSED: ball arithmetic
    decides every instance of a box, which is given. CERTIFIED: exact ball arithmetic agrees at rational
    instances. HOLDS: random instances and an optimiser found no violation. REFUTED: a violation, with its
    witness. UNDECIDED: none of these.
    """

    PROVED = "PROVED"
    ENCLOSED = "ENCLOSED"
    CERTIFIED = "CERTIFIED"
    HOLDS = "HOLDS"
    REFUTED = "REFUTED"
    UNDECIDED = "UNDECIDED"


class Relation(StrEnum):
    """How the two sides relate; `TENDS` compares them along a ladder of shrinking `eps`."""

    EQUAL = "=="
    AT_MOST = "<="
    TENDS = "->"


@dataclass(frozen=True)
class Claim:
    """One symbolic step: `expression - equals` vanishes ("=0"), is positive (">0") or non-negative (">=0").

    It is claimed for all values that the symbols' assumptions and the inequalities `where` allow. Symbols
    are real. Raises ValueError for another sign, and for a symbol that is not declared real.
    """

    text: str
    expression: sympy.Expr
    sign: str = "=0"
    where: tuple[sympy.Rel, ...] = ()
    equals: sympy.Expr | int = 0

    def __post_init__(self) -> None:
        choice("sign", self.sign, SIGNS)
        if unreal := [symbol.name for symbol in self.symbols() if not symbol.is_real]:
            raise argument_error("expression", str(self.expression), f"{unreal[0]} must be declared real")

    def symbols(self) -> set[sympy.Symbol]:
        """The symbols of both sides and of the conditions."""
        parts = (self.expression, self.equals, *self.where)
        return set().union(*(sympy.sympify(part).free_symbols for part in parts))

    def difference(self) -> sympy.Expr:
        """What vanishes, is positive or is not negative."""
        return sympy.sympify(self.expression) - sympy.sympify(self.equals)


SIGNS = ("=0", ">0", ">=0")
"""What a claim may say about its expression."""

Claims: TypeAlias = Iterator[Claim]
"""The steps of a derivation, in order."""


@dataclass(frozen=True)
class FalseNeighbour:
    """A statement next to a theorem that is false: the theorem with some fields changed, then altered."""

    name: str
    changes: Mapping[str, Any]
    alter: Callable[["Theorem"], "Theorem"] = lambda theorem: theorem


def neighbour(name: str, **changes: Any) -> FalseNeighbour:
    """The false neighbour that has these fields of the theorem changed."""
    return FalseNeighbour(name, changes)


Side = Callable[..., Any]


def scaled(side: Side, factor: float) -> Side:
    """The side multiplied by a number, for neighbours that cut or raise a constant."""

    @wraps(side)
    def multiple(*args: Any, **kwargs: Any) -> Any:
        return factor * side(*args, **kwargs)

    return multiple


@dataclass(frozen=True)
class Theorem:
    """One statement and what is needed to check it.

    `lhs` and `rhs` take the parts of an instance by name (those they need), batched, and return arrays
    with the same leading batch axis; further axes hold several components that must all obey. They are
    written in operations that floats and balls share. A `TENDS` theorem's sides may also take `eps`.

    `floor` is the scale below which a gap counts as absolute rather than relative; `tight` says whether
    a bound's ratio lhs/rhs should come close to one; `certified` whether balls can evaluate the sides;
    `reductions` the boxes of few scalars on which balls decide all of the statement at once; `given` names
    the entries that the derivation leans on; `needs` an optional package without which no check applies.
    """

    name: str
    title: str
    source: Source
    statement: str
    relation: Relation
    lhs: Side
    rhs: Side
    instances: Chart
    expected: Verdict
    false_neighbours: tuple[FalseNeighbour, ...]
    examples: tuple[Instance, ...] = ()
    symbolic: Callable[[], Iterable[Claim]] | None = None
    given: tuple[str, ...] = ()
    certified: bool = True
    reductions: tuple[Reduction, ...] = ()
    tight: bool | None = None
    tolerance: float = 1e-9
    floor: float = 1e-3
    ladder: tuple[float, ...] = (1e-2, 1e-4, 1e-6, 1e-8)
    note: str = ""
    needs: str | None = None
    digits: int = field(default=3, repr=False)

    def changed(self, false: FalseNeighbour) -> "Theorem":
        """The false neighbour as a statement of its own, under the theorem's name."""
        other = replace(self, **{"symbolic": None, "expected": Verdict.REFUTED, **false.changes})
        return false.alter(other)

    def sides(self, instance: Instance, **extra: Any) -> tuple[np.ndarray, np.ndarray]:
        """Both sides on a batch of instances, broadcast against each other."""
        values = {**self.instances.completed(instance), **extra}
        lhs, rhs = evaluate(self.lhs, values), evaluate(self.rhs, values)
        if lhs.shape != rhs.shape:
            lhs, rhs = np.broadcast_arrays(lhs, rhs)
        return lhs, rhs

    def violation(self, instance: Instance) -> np.ndarray:
        """How far each instance of a float batch is from obeying, shape (batch,): obeyed if <= tolerance.

        Gaps are relative to the larger side (or to `floor`); a nan counts as an infinite violation.
        """
        if self.relation is not Relation.TENDS:
            return _worst(self.gap(*self.sides(instance)))
        gaps = np.stack([_worst(self.gap(*self.sides(instance, eps=eps))) for eps in self.ladder])
        return np.maximum(gaps[-1], np.diff(gaps, axis=0).max(axis=0))

    def gap(self, lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        """The relative gap by which lhs differs from rhs (or exceeds it, for a bound)."""
        with np.errstate(invalid="ignore"):
            scale = np.maximum(np.maximum(np.abs(lhs), np.abs(rhs)), self.floor)
            difference = lhs - rhs
            relative = np.where(np.isinf(scale), np.sign(difference), difference / scale)
        relative = np.where(lhs == rhs, 0.0, relative)
        if self.relation is not Relation.AT_MOST:
            relative = np.abs(relative)
        return np.where(np.isnan(relative), np.inf, relative)

    def measured(self, instance: Instance) -> tuple[np.ndarray, float]:
        """The violations, and how tight a bound's batch is at most, from one evaluation of its sides.

        Tightness is the ratio lhs/rhs where rhs is finite and above the floor, or -inf.
        """
        if self.relation is not Relation.AT_MOST:
            return self.violation(instance), -np.inf
        lhs, rhs = self.sides(instance)
        above = (rhs > self.floor) & np.isfinite(rhs)
        ratio = np.where(above, lhs, -np.inf) / np.where(above, rhs, 1.0)
        return _worst(self.gap(lhs, rhs)), float(_worst(ratio).max())


def _worst(values: np.ndarray) -> np.ndarray:
    return values.reshape(len(values), -1).max(axis=1)


@cache
def parameters(side: Side) -> tuple[str, ...]:
    """The parts of an instance that a side asks for."""
    return tuple(inspect.signature(side).parameters)


@cache
def _required(side: Side) -> frozenset[str]:
    """The parts without which a side cannot be computed."""
    found = inspect.signature(side).parameters.values()
    return frozenset(part.name for part in found if part.default is part.empty)


def evaluate(side: Side, values: Mapping[str, Any]) -> np.ndarray:
    """The side on the parts it asks for; ValueError names those that the instances lack."""
    if missing := _required(side) - values.keys():
        name, asked = getattr(side, "__name__", "side"), ", ".join(sorted(missing))
        raise argument_error(name, f"a function of {asked}", f"instances have {', '.join(values)}")
    return np.asarray(side(**{name: values[name] for name in parameters(side) if name in values}))
