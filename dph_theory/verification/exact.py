"""What holds in ball arithmetic: at the kept examples, at a few rational instances, at false neighbours.

Both sides are computed in balls, narrower and narrower until they decide. Equality means overlapping balls
narrower than 1e-30, an inequality disjoint balls; a bound that is attained is a tie, and says nothing.
"""

from collections.abc import Iterator
from enum import Enum

import numpy as np
from flint import arb

from ..numeric.balls import precision
from ..statement.charts import Instance, OutsideDomainError, as_balls, as_floats
from ..statement.theorem import FalseNeighbour, Relation, Theorem
from .search import sample

BITS = (192, 768, 3072)
"""Working precisions, tried in turn until the balls decide."""
WIDTH = 1e-30
MARGIN = 10
"""A violation in floats counts from so many tolerances on."""


class Found(Enum):
    """What balls say of a statement at an instance, the most telling of its components first."""

    FAILS = "fails"
    WIDE = "the balls stay too wide to tell"
    TIE = "a bound that is attained, or an instance rounded out of the domain"
    HOLDS = "holds"


def in_balls(theorem: Theorem) -> bool:
    """Whether balls can evaluate both sides; a limit they cannot."""
    return theorem.exact and theorem.relation is not Relation.TENDS


def rational_instances(theorem: Theorem, count: int, seed: int) -> Iterator[Instance]:
    """Random instances rounded to few digits, each a batch of one."""
    batch = theorem.instances(sample(theorem.instances, count, np.random.default_rng(seed)))
    for i in range(count):
        one = {name: value[i : i + 1] for name, value in batch.items()}
        yield theorem.instances.rounded(one, theorem.digits)


def at(theorem: Theorem, instance: Instance) -> Found:
    """What balls say of a statement at an instance of exact numbers."""
    outcome = Found.WIDE
    for bits in BITS:
        with precision(bits):
            try:
                sides = theorem.sides(as_balls(instance))
            except ZeroDivisionError:  # A matrix too wide to invert at this precision.
                continue
            except OutsideDomainError:
                return Found.TIE
            pairs = zip(*(map(arb, side.ravel()) for side in sides), strict=True)
            found = {_compare(theorem.relation, a, b) for a, b in pairs}
        outcome = next(each for each in Found if each in found)
        if outcome in (Found.FAILS, Found.HOLDS):
            break
    return outcome


def _compare(relation: Relation, lhs: arb, rhs: arb) -> Found:
    if lhs.is_nan() or rhs.is_nan():
        return Found.WIDE
    if not lhs.is_finite() and not rhs.is_finite():
        return Found.HOLDS if (lhs > 0) == (rhs > 0) else Found.FAILS
    if not lhs.overlaps(rhs):
        return Found.HOLDS if relation is Relation.AT_MOST and lhs < rhs else Found.FAILS
    if max(float(lhs.rad()), float(rhs.rad())) >= WIDTH:
        return Found.WIDE
    return Found.HOLDS if relation is Relation.EQUAL else Found.TIE


def fails(statement: Theorem, instance: Instance) -> bool:
    """Whether a false statement fails at an instance: in balls, or by a wide margin in floats."""
    if in_balls(statement) and at(statement, instance) is Found.FAILS:
        return True
    return bool(statement.violation(as_floats(instance))[0] > MARGIN * statement.tolerance)


def falls(theorem: Theorem, false: FalseNeighbour) -> bool:
    """Whether a false neighbour fails at its kept witness; without one, at an example of the theorem."""
    statement = theorem.changed(false)
    kept = (false.witness,) if false.witness is not None else statement.examples
    return any(fails(statement, example.parts) for example in kept)


def wrong_values(theorem: Theorem) -> list[str]:
    """What an example is said to give and does not, to one unit of the last digit written.

    Where only floats can compute a side, to the theorem's tolerance.
    """
    balls = in_balls(theorem)
    last = {"eps": theorem.ladder[-1]} if theorem.relation is Relation.TENDS else {}
    wrong = []
    for number, example in enumerate(theorem.examples, 1):
        if example.lhs is None and example.rhs is None:
            continue
        with precision(BITS[0]):
            sides = theorem.sides((as_balls if balls else as_floats)(example.parts), **last)
            for name, kept, side in zip(("lhs", "rhs"), (example.lhs, example.rhs), sides, strict=True):
                found = [*map(arb, side.ravel())]
                if kept is not None and not _agree(found, [*kept.ravel()], 0 if balls else theorem.tolerance):
                    shown = " ".join(f"{float(x):.15g}" for x in found)
                    wrong.append(f"example {number}: {name} = {shown}, not {' '.join(kept.ravel())}")
    return wrong


def _agree(found: list[arb], written: list[str], tolerance: float) -> bool:
    """Whether numbers are those written; one may be written for several that are alike."""
    words = written * len(found) if len(written) == 1 else written
    same = (_is_written(number, str(word), tolerance) for number, word in zip(found, words, strict=False))
    return len(words) == len(found) and all(same)


def _is_written(number: arb, word: str, tolerance: float) -> bool:
    if "inf" in word or not number.is_finite():
        return "inf" in word and not number.is_finite() and ("-" in word) == bool(number < 0)
    mantissa, _, exponent = word.lower().partition("e")
    unit = arb(10) ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    allowed = unit if not tolerance else unit.max(tolerance * (1 + abs(number)))
    return bool(abs(number - arb(word)) <= allowed)
