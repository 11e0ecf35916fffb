"""A false neighbour at its kept witness: does it fail there for certain, and how far around?"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from flint import arb

from ...numeric.balls import precision
from ...statement.charts import Example, Instance, as_balls, as_floats
from ...statement.theorem import FalseNeighbour, Relation, Theorem, Verdict
from .certified import certify
from .enclosed import BITS_AT_POINTS

MARGIN = 10
"""A violation in floats counts from so many tolerances on."""
EXPONENTS = tuple(range(3, 41))


def refuted_by(statement: Theorem, instance: Instance) -> str:
    """What decides that a false statement fails at an instance: "balls", "floats" by a wide margin, or ""."""
    in_balls = statement.certified and statement.relation is not Relation.TENDS
    if in_balls and certify(statement, instance) is Verdict.REFUTED:
        return "balls"
    violation = statement.violation(as_floats(instance))[0]
    return "floats" if violation > MARGIN * statement.tolerance else ""


def witnesses(theorem: Theorem, false: FalseNeighbour) -> Iterator[Instance]:
    """The kept witness of a false neighbour; without one, the examples of the theorem or of the neighbour."""
    examples: tuple[Example, ...] = theorem.changed(false).examples
    kept = (false.witness,) if false.witness is not None else examples
    yield from (example.parts for example in kept)


def certain_around(statement: Theorem, witness: Instance) -> int | None:
    """The k of the widest box about a witness, x (1 +- 2^-k), on all of which the statement is violated.

    None if no box is found, for limits and for sides that balls cannot evaluate.
    """
    if statement.relation is Relation.TENDS or not statement.certified:
        return None
    middle = statement.instances(np.full((1, statement.instances.dimension), 0.5))
    whole = {name for name, value in middle.items() if value.dtype.kind in "biu"}
    with precision(BITS_AT_POINTS):
        return next((k for k in EXPONENTS if _violated(statement, _widened(witness, whole, k))), None)


def _widened(witness: Mapping[str, Any], whole: set[str], k: int) -> Instance:
    share = arb(1, arb(2) ** -k)
    return {
        name: value if name in whole or value.dtype == bool else value * share
        for name, value in as_balls(witness).items()
    }


def _violated(statement: Theorem, instance: Instance) -> bool:
    """Whether both sides are evaluated and some component of them is certain to break the relation."""
    try:
        lhs, rhs = statement.sides(instance)
    except (ValueError, ZeroDivisionError):  # A box too wide to tell a law, or to divide by.
        return False
    pairs = [(arb(a), arb(b)) for a, b in zip(lhs.ravel(), rhs.ravel(), strict=True)]
    if statement.relation is Relation.AT_MOST:
        return any(a > b for a, b in pairs)
    return any(a > b or a < b for a, b in pairs)
