"""Whether a run held to its law: the one definition, and the bars it holds by."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True)
class Bounds:
    """The most by which a run that obeys its law may miss it."""

    validity: float
    """Of the mean |V - law's V|."""
    kl: float
    """Of the mean KL(run || law), in nats.

    Chosen before any run was held to it. By Pinsker's inequality the run and the law then give no set of
    answers probabilities further apart than sqrt(kl/2), .1 (selection: .07); and it takes 1/kl answers, 50
    (100), until they carry a nat of evidence that the run is not the law. Validity and the nearest law alone
    let a run hold whose valid answers have collapsed: P(first | valid) .99 for .90 are .07 nats.
    """


BARS, SELECTION_BARS = Bounds(0.02, 0.02), Bounds(0.01, 0.01)


def bars_of(task: str) -> Bounds:
    """Those of a task."""
    return SELECTION_BARS if task.startswith("selection") else BARS


ALIKE = 1e-6
"""Nats by which distances must differ to tell two laws apart: on some tasks two of them coincide."""


def nearest_of(distances: Mapping[str, float]) -> str | None:
    """The first name whose distance is the least, or as good as it; None of none."""
    least = min(distances.values(), default=math.inf)
    return next((name for name, distance in distances.items() if distance <= least + ALIKE), None)


def mean_gap(found: Sequence[float], wanted: Sequence[float]) -> float:
    """The mean over rows of |V - V of a law|."""
    return fmean(abs(one - other) for one, other in zip(found, wanted, strict=True))


def misses(law: str, distances: Mapping[str, float], gap: float, bars: Bounds = BARS) -> tuple[str, ...]:
    """What of its law an end misses: the law (a rival is nearer), the validity, the answers (their bars)."""
    missed = {
        "law": distances[law] > min(distances.values()) + ALIKE,
        "validity": gap > bars.validity,
        "answers": distances[law] > bars.kl,
    }
    return tuple(name for name, found in missed.items() if found)
