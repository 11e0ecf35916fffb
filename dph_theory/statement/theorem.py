"""What a theorem is: two sides, instances to try it on, neighbours that are false, scalar forms."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, partial, wraps
from typing import Any, TypeAlias

import numpy as np
import sympy

from ..numeric.enclosures import Range, Scalar, described
from ..references import Source
from ..support.errors import argument_error, choice
from .charts import Chart, Example, Instance


@dataclass(frozen=True)
class ScalarForm:
    """The scalars of a statement, the way from them to its instances, and the statement in them.

    `instance` gives the parts of the instance, nested lists of scalars or of booleans, from the scalars of
    `box` and of `free`, those on which the statement does not depend. A bound states `gap`, its components
    of (rhs - lhs)/factor with a positive `factor` each; an identity states `sides`, its pairs (lhs, rhs).
    `components` are those of the statement that it speaks of, all if None. `zero` names a scalar and the
    order to which every gap vanishes with it: that power is divided out. `tolerance` is the error that is to
    be shown of an identity.
    """

    text: str
    box: Mapping[str, Range]
    instance: Callable[..., Mapping[str, Any]]
    gap: Callable[..., Sequence[Scalar]] | None = None
    sides: Callable[..., Sequence[tuple[Scalar, Scalar]]] | None = None
    factor: Callable[..., Sequence[Scalar]] | None = None
    components: tuple[int, ...] | None = None
    zero: tuple[str, int] | None = None
    free: Mapping[str, Range] = field(default_factory=dict)
    tolerance: float = 1e-6

    def __str__(self) -> str:
        return described({**self.box, **self.free})

    def pairs(self, **scalars: Scalar) -> Sequence[tuple[Scalar, Scalar]]:
        """The two sides of an identity; raises ValueError if neither they nor a gap are stated."""
        if self.sides is None:
            raise argument_error("sides", self.sides, "what an identity states, where there is no gap")
        return self.sides(**scalars)


class Verdict(StrEnum):
    """What the checks found, from strongest to weakest.

    PROVED: a theorem of the proof kernel for every number of outcomes, or claims decided for all values, that
    are the statement itself and are compared with its two sides. DERIVED: every scalar step is decided, and
    sentences, printed with them, put the steps together. ENCLOSED: ball
    arithmetic decides every instance of a box, which is given. CERTIFIED: exact ball arithmetic agrees at
    rational instances. HOLDS: random instances and an optimiser found no violation. REFUTED: a violation,
    with its witness. UNDECIDED: none of these. What rests on other entries is no better than they are.
    """

    PROVED = "PROVED"
    DERIVED = "DERIVED"
    ENCLOSED = "ENCLOSED"
    CERTIFIED = "CERTIFIED"
    HOLDS = "HOLDS"
    REFUTED = "REFUTED"
    UNDECIDED = "UNDECIDED"

    def at_most(self, others: "Iterable[Verdict]") -> "Verdict":
        """The weakest of this verdict and of others."""
        return max((self, *others), key=tuple(Verdict).index)


class Relation(StrEnum):
    """How the two sides relate; `TENDS` compares them along a ladder of shrinking `eps`."""

    EQUAL = "=="
    AT_MOST = "<="
    TENDS = "->"


@dataclass(frozen=True)
class Claim:
    """One symbolic step: `expression - equals` vanishes ("=0"), is positive (">0") or non-negative (">=0").

    It is claimed for all values that the symbols' assumptions and the inequalities `where` allow. Symbols
    are real. A claim that is the statement itself says so by `states`: a function from parts of an instance,
    by name, to the symbols' values, at which `expression` and `equals` are the two sides (for a bound, their
    difference is rhs - lhs) of the statement's component number `component`.

    Raises ValueError for another sign, for a symbol that is not declared real, and for sides that sympy
    writes alike as they are built: such a claim would say nothing.
    """

    text: str
    expression: sympy.Expr
    sign: str = "=0"
    where: tuple[sympy.Rel, ...] = ()
    equals: sympy.Expr | int = 0
    states: Callable[..., Mapping[sympy.Symbol, Any]] | None = None
    component: int = 0

    def __post_init__(self) -> None:
        choice("sign", self.sign, SIGNS)
        if unreal := [symbol.name for symbol in self.symbols() if not symbol.is_real]:
            raise argument_error("expression", str(self.expression), f"{unreal[0]} must be declared real")
        if sympy.sympify(self.expression) == sympy.sympify(self.equals):
            raise argument_error("equals", str(self.equals), f"both sides of {self.text!r} are the same")

    def symbols(self) -> set[sympy.Symbol]:
        """The symbols of both sides and of the conditions."""
        parts = (self.expression, self.equals, *self.where)
        return set().union(*(sympy.sympify(part).free_symbols for part in parts))

    def difference(self) -> sympy.Expr:
        """What vanishes, is positive or is not negative."""
        return sympy.sympify(self.expression) - sympy.sympify(self.equals)


class FalseStep(Claim):
    """A claim next to a step of the derivation that is false: the deciders must refuse it."""


SIGNS = ("=0", ">0", ">=0")
"""What a claim may say about its expression."""

Steps: TypeAlias = Iterator[Claim | str]
"""A derivation in order: claims, false steps, and the sentences that put the claims together."""


Side = Callable[..., Any]


@dataclass(frozen=True)
class Kernel:
    """The theorem of the proof kernel that is a statement, or that part of it which `part` names.

    `theorem` stands in a file of `dph_theory/kernel`. Its variables are the parts of an instance by the same
    names: a vector is a function of the outcomes, which are `ys`. `where` takes parts by name and gives other
    variables, or a list of such mappings, one for each of the statement's components in turn. Of a statement
    that is false the theorem is its negation at the counterexample.
    """

    theorem: str
    part: str = ""
    where: Callable[..., Mapping[str, Any] | Sequence[Mapping[str, Any]]] | None = None


@dataclass(frozen=True)
class FalseNeighbour:
    """A statement next to a theorem that is false: the theorem with some fields changed.

    `witness` is the kept instance at which it fails; None where it fails at an example of the theorem.
    """

    name: str
    changes: Mapping[str, Any]
    witness: Example | None = None

    @property
    def kernel(self) -> Kernel | None:
        """The theorem of the proof kernel that it is false, if it has one."""
        return self.changes.get("kernel")


def neighbour(name: str, *, at: Example | None = None, **changes: Any) -> FalseNeighbour:
    """The false neighbour that has these fields of the theorem changed, and fails at the instance `at`."""
    return FalseNeighbour(name, changes, at)


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

    `floor` is the scale below which a gap counts as absolute rather than relative; `tight` is a kept
    instance at which a bound's sides nearly meet; `certified` says whether balls can evaluate the sides;
    `reductions` are the boxes of few scalars on which balls decide all of the statement at once; `derivation`
    yields claims, false steps and sentences; `given` names the entries that it rests on; `kernel` the theorem
    of the proof kernel that is the statement or a part of it; `needs` an optional package without which no
    check applies.
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
    examples: tuple[Example, ...] = ()
    derivation: Callable[[], Iterable[Claim | str]] | None = None
    given: tuple[str, ...] = ()
    kernel: Kernel | None = None
    certified: bool = True
    reductions: tuple[ScalarForm, ...] = ()
    tight: Example | None = None
    tolerance: float = 1e-9
    floor: float = 1e-3
    ladder: tuple[float, ...] = (1e-2, 1e-4, 1e-6, 1e-8)
    note: str = ""
    needs: str | None = None
    digits: int = field(default=3, repr=False)

    @property
    def family(self) -> str:
        """The family that it belongs to: A5 for A5.validity."""
        return self.name.partition(".")[0]

    @property
    def proved_in_kernel(self) -> bool:
        """Whether a theorem of the proof kernel is all of the statement, and not its negation."""
        whole = self.kernel is not None and not self.kernel.part
        return whole and self.expected is not Verdict.REFUTED

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The theorems of the proof kernel that it and its false neighbours name."""
        named = (self.kernel, *(false.kernel for false in self.false_neighbours))
        return tuple(kernel for kernel in named if kernel is not None)

    def changed(self, false: FalseNeighbour) -> "Theorem":
        """The false neighbour as a statement of its own, under the theorem's name."""
        fields = {"derivation": None, "kernel": None, "expected": Verdict.REFUTED, **false.changes}
        return replace(self, **fields)

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


def _entry(
    expected: Verdict,
    name: str,
    title: str,
    *,
    statement: str,
    source: Source,
    on: Chart,
    equal: tuple[Side, Side] | None = None,
    at_most: tuple[Side, Side] | None = None,
    tends: tuple[Side, Side] | None = None,
    false: tuple[FalseNeighbour, ...],
    **others: Any,
) -> Theorem:
    """An entry of the registry, of the two sides under one of `equal`, `at_most` and `tends`.

    `on` is the chart of its instances, `false` its false neighbours; the other fields are `Theorem`'s.
    Raises ValueError where not one of the three relations is given, and for an entry without a neighbour.
    """
    related = {Relation.EQUAL: equal, Relation.AT_MOST: at_most, Relation.TENDS: tends}
    given = {relation: sides for relation, sides in related.items() if sides is not None}
    if len(given) != 1:
        raise argument_error(name, [str(relation) for relation in given], "one of equal, at_most and tends")
    if not false:
        raise argument_error("false", false, f"at least one false neighbour of {name}")
    ((relation, (lhs, rhs)),) = given.items()
    return Theorem(name, title, source, statement, relation, lhs, rhs, on, expected, false, **others)


proved = partial(_entry, Verdict.PROVED)
"""An entry that is a theorem of the kernel, or whose derivation's claims are the statement itself."""
derived = partial(_entry, Verdict.DERIVED)
"""An entry whose scalar steps are decided; sentences put them together."""
enclosed = partial(_entry, Verdict.ENCLOSED)
"""An entry that ball arithmetic decides on whole boxes."""
certified = partial(_entry, Verdict.CERTIFIED)
"""An entry that ball arithmetic confirms at rational instances."""
holds = partial(_entry, Verdict.HOLDS)
"""An entry that random instances and an optimiser do not refute."""
refuted = partial(_entry, Verdict.REFUTED)
"""A published claim that is false: its first example is the counterexample."""


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
