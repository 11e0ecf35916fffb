"""A theorem as a value: two sides, test cases to try it on, and neighbours of it that are false."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, partial, wraps
from typing import Any

import numpy as np

from ..references import REFERENCES, Source
from ..support.errors import argument_error
from .charts import Chart, Example, Instance

Side = Callable[..., Any]


class Verdict(StrEnum):
    """The status of a statement.

    PROVED: a theorem in Coq, for every number of outcomes. CHECKED: two implementations agree on random
    test cases, on those of an optimiser that looks for a violation, and at the examples. REFUTED: a
    violation, with its counterexample. FAILED: a side has no value at a test case, so nothing is known.
    """

    PROVED = "PROVED"
    CHECKED = "CHECKED"
    REFUTED = "REFUTED"
    FAILED = "FAILED"


OWN = "our own"


class Relation(StrEnum):
    """Relation of the two sides; `TENDS` compares them along a ladder of shrinking `eps`."""

    EQUAL = "=="
    AT_MOST = "<="
    TENDS = "->"


@dataclass(frozen=True)
class FalseNeighbour:
    """A statement next to a theorem that is false: the theorem with some fields changed.

    `witness` is the stored test case at which it fails; None where it fails at an example of the theorem.
    """

    name: str
    changes: Mapping[str, Any]
    witness: Example | None = None


def neighbour(name: str, *, at: Example | None = None, **changes: Any) -> FalseNeighbour:
    """False variant of a theorem with these fields changed; it fails at the test case `at`."""
    return FalseNeighbour(name, changes, at)


def scaled(side: Side, factor: float) -> Side:
    """The side multiplied by a number, for false variants with another constant."""

    @wraps(side)
    def multiple(*args: Any, **kwargs: Any) -> Any:
        return factor * side(*args, **kwargs)

    return multiple


@dataclass(frozen=True)
class Theorem:
    """One statement and what is needed to check it.

    Its `name` says where it stands, `kl_control.pass_rate`: the module of `dph_theory.theorems` and the name
    there; the registry gives it.

    `lhs` and `rhs` take the parts of a test case by name (those they need), batched, and return arrays
    with the same leading batch axis; further axes hold several components that must all obey. A `TENDS`
    theorem's sides may also take `eps`.

    `coq` names the theorem in Coq that is the statement (or several, for its components), or
    that part of it which `part` says; `explained` gives the lines that `dph verify` prints instead of the
    table where few entries are named; `floor` is the scale below which a gap counts as absolute rather than
    relative; `share` is the part of the test cases asked for that a search tries, below one where a test case
    costs a solver of its own.
    """

    title: str
    source: Source
    statement: str
    relation: Relation
    lhs: Side
    rhs: Side
    instances: Chart
    false: bool
    false_neighbours: tuple[FalseNeighbour, ...]
    examples: tuple[Example, ...] = ()
    coq: str = ""
    part: str = ""
    tolerance: float = 1e-9
    floor: float = 1e-3
    ladder: tuple[float, ...] = (1e-2, 1e-4, 1e-6, 1e-8)
    note: str = ""
    explained: Callable[[], Sequence[str]] | None = None
    share: float = 1.0
    name: str = ""

    @property
    def subject(self) -> str:
        """Name of the module that defines the theorem, such as kl_control."""
        return self.name.partition(".")[0]

    @property
    def origin(self) -> str:
        """Words for whose statement it is: our own, from a paper, or a refuted published claim."""
        if self.source.key == "ours":
            return f"{OWN} counterexample" if self.false else OWN
        return f"{'a published claim of' if self.false else 'from'} {REFERENCES[self.source.key].authors}"

    @property
    def expected(self) -> Verdict:
        """REFUTED for a claim listed as false, PROVED for a whole theorem of the kernel, else CHECKED."""
        if self.false:
            return Verdict.REFUTED
        return Verdict.PROVED if self.coq and not self.part else Verdict.CHECKED

    def changed(self, false: FalseNeighbour) -> "Theorem":
        """False variant as a theorem of its own, under this theorem's name."""
        return replace(self, **{"coq": "", "false": True, **false.changes})

    def sides(self, instance: Instance, **extra: Any) -> tuple[np.ndarray, np.ndarray]:
        """Both sides on a batch of test cases, broadcast against each other."""
        values = {**self.instances.completed(instance), **extra}
        lhs, rhs = evaluate(self.lhs, values), evaluate(self.rhs, values)
        if lhs.shape != rhs.shape:
            lhs, rhs = np.broadcast_arrays(lhs, rhs)
        return lhs, rhs

    def violation(self, instance: Instance) -> np.ndarray:
        """Distance of each test case of a float batch from obeying, shape (batch,): obeyed if <= tolerance.

        Gaps are relative to the larger side (or to `floor`); a nan counts as an infinite violation.
        """
        if self.relation is not Relation.TENDS:
            return _worst(self.gap(*self.sides(instance)))
        gaps = np.stack([_worst(self.gap(*self.sides(instance, eps=eps))) for eps in self.ladder])
        return np.maximum(gaps[-1], np.diff(gaps, axis=0).max(axis=0))

    def gap(self, lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        """Relative gap (batch,) by which lhs differs from rhs, or exceeds it for a bound."""
        with np.errstate(invalid="ignore"):
            scale = np.maximum(np.maximum(np.abs(lhs), np.abs(rhs)), self.floor)
            relative = np.where(np.isinf(scale), np.sign(lhs - rhs), (lhs - rhs) / scale)
        relative = np.where(lhs == rhs, 0.0, relative)
        if self.relation is not Relation.AT_MOST:
            relative = np.abs(relative)
        return np.where(np.isnan(relative), np.inf, relative)


def _worst(values: np.ndarray) -> np.ndarray:
    return values.reshape(len(values), -1).max(axis=1)


def _entry(
    is_false: bool,
    title: str,
    *,
    statement: str,
    source: Source,
    on: Chart,
    equal: tuple[Side, Side] | None = None,
    at_most: tuple[Side, Side] | None = None,
    tends: tuple[Side, Side] | None = None,
    false: tuple[FalseNeighbour, ...],
    **fields: Any,
) -> Theorem:
    """An entry of the registry, of the two sides under one of `equal`, `at_most` and `tends`.

    `on` is the chart of its test cases, `false` its false neighbours; the other fields are `Theorem`'s. Of an
    example, which several entries may share, the chart's parts remain.
    Raises ValueError where not one of the three relations is given, for an entry without a neighbour, and for
    a refuted one without its counterexample.
    """
    related = {Relation.EQUAL: equal, Relation.AT_MOST: at_most, Relation.TENDS: tends}
    given = {relation: sides for relation, sides in related.items() if sides is not None}
    if len(given) != 1:
        raise argument_error(title, [str(relation) for relation in given], "one of equal, at_most and tends")
    if not false:
        raise argument_error("false", false, f"at least one false variant of {title}")
    if is_false and not fields.get("examples"):
        raise argument_error("examples", (), f"the counterexample of {title} first")
    ((relation, (lhs, rhs)),) = given.items()
    fields["examples"] = tuple(example.restricted_to(on) for example in fields.get("examples", ()))
    return Theorem(title, source, statement, relation, lhs, rhs, on, is_false, false, **fields)


theorem = partial(_entry, False)
"""A statement that holds."""
refuted = partial(_entry, True)
"""A false claim, published or plausible: its first example is the counterexample."""


@cache
def parameters(side: Side) -> Mapping[str, bool]:
    """Names of the test-case parts that a side takes, each with True if it is required."""
    return {name: part.default is part.empty for name, part in inspect.signature(side).parameters.items()}


def evaluate(side: Side, values: Mapping[str, Any]) -> np.ndarray:
    """Value of a side on the parts it takes, (batch, ...); ValueError names missing parts."""
    required = {name for name, needed in parameters(side).items() if needed}
    if missing := required - values.keys():
        name, needed = getattr(side, "__name__", "side"), f"a function of {', '.join(sorted(missing))}"
        raise argument_error(name, needed, f"test cases have {', '.join(values)}")
    return np.asarray(side(**{name: values[name] for name in parameters(side) if name in values}))
