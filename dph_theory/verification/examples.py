"""Checks at stored test cases: a false variant fails, a statement gives the values written."""

import numpy as np

from .charts import Instance, as_floats
from .statement import FalseNeighbour, Relation, Theorem

MARGIN = 5
"""A violation counts from so many tolerances on."""


def falls(theorem: Theorem, false: FalseNeighbour) -> bool:
    """True if a false variant fails at its counterexample, or else at the theorem's example."""
    statement = theorem.changed(false)
    instances = (false.witness,) if false.witness is not None else statement.examples
    return any(fails(statement, example.parts) for example in instances)


def fails(statement: Theorem, instance: Instance) -> bool:
    """True if a false statement's violation at a test case exceeds MARGIN times the tolerance."""
    return bool(statement.violation(as_floats(instance))[0] > MARGIN * statement.tolerance)


def cannot_fail(theorem: Theorem) -> list[str]:
    """Reasons why a limit's check could not fail at its examples: allowed gaps exceed both sides.

    Gaps are relative to the larger side or to `floor`: where both sides go to zero, the ladder must end while
    one of them is above tolerance * floor; where the limit is zero itself, it must begin there.
    """
    if theorem.relation is not Relation.TENDS:
        return []
    allowed, reasons = theorem.tolerance * theorem.floor, []
    for number, example in enumerate(theorem.examples, 1):
        parts = as_floats(example.parts)
        _, limit = theorem.sides(parts, eps=theorem.ladder[-1])
        rung = theorem.ladder[-1] if limit.any() else theorem.ladder[0]
        largest = max(float(np.abs(side).max()) for side in theorem.sides(parts, eps=rung))
        if largest <= allowed:
            reasons.append(
                f"example {number}: at eps = {rung:g} both sides are at most {largest:.2g}, and a gap of"
                f" {allowed:.2g} (tolerance times floor) is allowed: the check cannot fail"
            )
    return reasons


def wrong_values(theorem: Theorem) -> list[str]:
    """Sentences on stored example values that differ from the sides by a last digit, or the tolerance."""
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
