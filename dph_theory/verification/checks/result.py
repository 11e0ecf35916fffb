"""What a check returns, and the search for a witness small enough to read."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...statement.charts import Instance, as_floats
from ...statement.theorem import Theorem, Verdict
from ..proofs.decision import Decision

MOST_DIGITS = 12


@dataclass(frozen=True)
class Enclosed:
    """A box on which all instances were decided at once: what was found there, from how many pieces."""

    box: str
    finding: str
    pieces: int


@dataclass(frozen=True)
class CheckResult:
    """The outcome of one check: a frozen value with its witness, if it found a violation.

    `worst_violation` is the largest relative gap seen (negative for a bound that always had room),
    `tightness` the largest ratio of a bound's sides; both None where the check does not measure them.
    `steps` are those of a derivation, each claim with who decided it.
    """

    check: str
    verdict: Verdict
    instances: int
    worst_violation: float | None = None
    tightness: float | None = None
    witness: dict[str, Any] | None = None
    seed: int | None = None
    detail: str = ""
    steps: tuple[Decision, ...] = ()
    boxes: tuple[Enclosed, ...] = ()
    seconds: float = 0.0


def pick(instance: Instance, index: int) -> Instance:
    """One instance of a batch, as a batch of one."""
    return {name: value[index : index + 1] for name, value in instance.items()}


def plain(instance: Instance) -> dict[str, Any]:
    """A batch of one as plain Python numbers and lists."""
    return {name: value[0].tolist() for name, value in as_floats(instance).items()}


def smallest(theorem: Theorem, instance: Instance) -> tuple[Instance, Instance | None]:
    """The violating instance with its numbers rounded to the fewest digits that still violate.

    Returns floats, and the same as exact fractions (None if no rounding violates).
    """
    for digits in range(1, MOST_DIGITS + 1):
        exact = theorem.instances.rounded(instance, digits)
        try:
            violates = theorem.violation(as_floats(exact))[0] > theorem.tolerance
        except ValueError:  # Rounded out of the theorem's domain, such as a rate rounded to 1.
            continue
        if violates:
            return as_floats(exact), exact
    return instance, None


def simplest(theorem: Theorem, instances: Instance, violation: np.ndarray, most: int = 16) -> Instance:
    """Among the worst few violating instances of a batch, the one whose rounding has the shortest digits."""
    order = np.argsort(-violation)[:most]
    found = [smallest(theorem, pick(instances, int(i)))[0] for i in order if violation[i] > theorem.tolerance]
    return min(found, key=lambda witness: len(repr(plain(witness))))
