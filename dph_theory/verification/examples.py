"""What holds at kept instances: a false variant fails, a statement gives the values written."""

import numpy as np

from .charts import Instance, as_floats
from .statement import FalseNeighbour, Relation, Theorem

MARGIN = 5
"""A violation counts from so many tolerances on."""


def falls(theorem: Theorem, false: FalseNeighbour) -> bool:
    """Whether a false variant fails at its counterexample, or else at the theorem's example."""
    statement = theorem.changed(false)
    instances = (false.witness,) if false.witness is not None else statement.examples
    return any(fails(statement, example.parts) for example in instances)


def fails(statement: Theorem, instance: Instance) -> bool:
    """Whether a false statement fails at an instance, by a wide margin."""
    return bool(statement.violation(as_floats(instance))[0] > MARGIN * statement.tolerance)


def wrong_values(theorem: Theorem) -> list[str]:
    """What an example is said to give and does not: to a unit of the last digit written, or the tolerance."""
    last = {"eps": theorem.ladder[-1]} if theorem.relation is Relation.TENDS else {}
    wrong = []
    for number, example in enumerate(theorem.examples, 1):
        if example.lhs is None and example.rhs is None:
            continue
        sides = theorem.sides(as_floats(example.parts), **last)
        for name, expected, side in zip(("lhs", "rhs"), (example.lhs, example.rhs), sides, strict=True):
            if expected is None:
                continue
            written, computed = expected.ravel().astype(float), side.ravel()
            units = np.array(
                [10.0 ** -len(word.lower().partition("e")[0].partition(".")[2]) for word in expected.ravel()]
            )
            allowed = np.maximum(units, theorem.tolerance * (1 + np.abs(computed)))
            with np.errstate(invalid="ignore"):
                same = (computed == written) | (np.abs(computed - written) <= allowed)
            if written.size not in (1, computed.size) or not same.all():
                shown = " ".join(f"{x:.15g}" for x in computed)
                wrong.append(f"example {number}: {name} = {shown}, not {' '.join(expected.ravel())}")
    return wrong
