"""Around a witness: the widest box of instances on all of which a statement is certain to fail."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from flint import arb

from ...numeric.balls import precision
from ...statement.charts import Instance
from ...statement.theorem import Relation, Theorem
from .certified import rational_instances
from .enclosed import BITS_AT_POINTS, as_instance
from .result import plain

EXPONENTS = tuple(range(3, 41))
OTHERS = 16
"""Random instances about which a box is looked for where there is none about the witness."""


def certain_box(
    theorem: Theorem, witness: Mapping[str, Any], seed: int
) -> tuple[Mapping[str, Any], int] | None:
    """The witness with the k of `certain_around`, or an example or a random instance that has one; or None.

    A search ends where the violation is largest, often on the edge of the domain, where no box is certain.
    """
    others: Sequence[Mapping[str, Any]] = [plain(x) for x in rational_instances(theorem, OTHERS, seed)]
    found = ((place, certain_around(theorem, place)) for place in (witness, *others))
    return next(((place, within) for place, within in found if within is not None), None)


def certain_around(theorem: Theorem, witness: Mapping[str, Any]) -> int | None:
    """The k of the widest box about a witness, x (1 +- 2^-k), on all of which the theorem is violated.

    None if no box is found, for limits and for sides that balls cannot evaluate.
    """
    if theorem.relation is Relation.TENDS or not theorem.certified:
        return None
    middle = theorem.instances(np.full((1, theorem.instances.dimension), 0.5))
    whole = {name for name, value in middle.items() if value.dtype.kind in "biu"}
    with precision(BITS_AT_POINTS):
        return next((k for k in EXPONENTS if _violated(theorem, _widened(witness, whole, k))), None)


def _widened(witness: Mapping[str, Any], whole: set[str], k: int) -> Instance:
    share = arb(1, arb(2) ** -k)
    instance = as_instance(witness)
    return {
        name: value if name in whole or value.dtype == bool else value * share
        for name, value in instance.items()
    }


def _violated(theorem: Theorem, instance: Instance) -> bool:
    """Whether both sides are evaluated and some component of them is certain to break the relation."""
    try:
        lhs, rhs = theorem.sides(instance)
    except (ValueError, ZeroDivisionError):  # A box too wide to tell a law, or to divide by.
        return False
    pairs = [(arb(a), arb(b)) for a, b in zip(lhs.ravel(), rhs.ravel(), strict=True)]
    if theorem.relation is Relation.AT_MOST:
        return any(a > b for a, b in pairs)
    return any(a > b or a < b for a, b in pairs)
