"""A run's settings, and its outcome: the comparison with the policy that was predicted beforehand."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from statistics import fmean
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Fields that identify a run: runs with equal fields are the same run and have the same digest."""

    @cached_property
    def digest(self) -> str:
        """Short hash of the non-default fields; a new field with a default does not change it."""
        return hashlib.sha256(json.dumps(self.changed, sort_keys=True).encode()).hexdigest()[:10]

    @property
    def changed(self) -> dict[str, Any]:
        """Fields whose values differ from their defaults."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {name: setting for name, (setting, default) in values.items() if setting != default}


def annealed(beta: float, beta_from: float | None, progress: float) -> float:
    """Coefficient beta (beta_from/beta)^(1 - 2 progress) at progress in [0, 1], constant from 1/2 on."""
    if beta_from is None:
        return beta
    return beta * float((beta_from / beta) ** max(1 - 2 * progress, 0.0))


@dataclass(frozen=True)
class Bounds:
    """Largest deviations from its prediction at which a run still matches."""

    pass_rate: float
    """Largest mean |V - predicted V|."""
    kl: float
    """Largest mean KL(run || predicted policy), in nats.

    These bounds were chosen before any run was compared. By Pinsker's inequality the probabilities of any set
    of answers then differ by at most sqrt(kl/2) = .1 (selection: .07), and it takes 1/kl = 50 (100) answers
    to collect one nat of evidence for another policy. Pass rate and nearest policy alone would accept a run
    whose correct answers have collapsed: P(first | valid) of .99 instead of .90 costs .07 nats.
    """


BARS, SELECTION_BARS = Bounds(0.02, 0.02), Bounds(0.01, 0.01)
SELECTION_TASKS = ("selection-2", "selection-3")


def bars_of(task: str) -> Bounds:
    """Tolerances on pass rate and KL that a task's predictions must meet."""
    return SELECTION_BARS if task in SELECTION_TASKS else BARS


SAME_DISTANCE = 1e-6
"""Smallest difference in nats that distinguishes two predictions, because some coincide on some tasks."""


def mean_gap(measured: Sequence[float], predicted: Sequence[float]) -> float:
    """Mean over rows of |V - predicted V|."""
    return fmean(abs(rate - expected) for rate, expected in zip(measured, predicted, strict=True))


def misses(policy: str, distances: Mapping[str, float], gap: float, bars: Bounds = BARS) -> tuple[str, ...]:
    """List the missed parts of a prediction: policy (a rival is nearer), pass rate, answers (by bounds)."""
    missed = {
        "policy": distances[policy] > min(distances.values()) + SAME_DISTANCE,
        "pass rate": gap > bars.pass_rate,
        "answers": distances[policy] > bars.kl,
    }
    return tuple(name for name, is_missed in missed.items() if is_missed)


class Outcome:
    """A finished run of any kind with its prediction, and the only definition of a match."""

    run: Any
    course: tuple[Any, ...]
    distances: Any
    """KL(run || policy) for each candidate stationary policy, by name."""
    own: Any
    """Name of the predicted policy; None if the theory predicts none."""
    gap: Any
    """Mean |V - predicted V|."""

    @property
    def last(self) -> Any:
        """Measurements at the end of the run."""
        return self.course[-1]

    @property
    def nearest(self) -> str | None:
        """Name of the stationary policy nearest to the run, the predicted one in ties; None without one."""
        if self.own is None:
            return None
        least = min(self.distances.values()) + SAME_DISTANCE
        return next(name for name in (self.own, *self.distances) if self.distances[name] <= least)

    @property
    def kl_to_prediction(self) -> float | None:
        """KL(run || predicted policy), in nats."""
        return None if self.own is None else self.distances[self.own]

    @property
    def misses(self) -> tuple[str, ...]:
        """Parts of the prediction that the run misses, by its task's bounds; empty without a prediction."""
        if self.own is None:
            return ()
        return misses(self.own, self.distances, self.gap or 0.0, bars_of(self.run.task))

    @property
    def verdict(self) -> str:
        """Status of the run: matched, missed (with the missed parts), or no prediction."""
        if self.own is None:
            return "no prediction"
        return f"missed: {' and '.join(self.misses)}" if self.misses else "matched"
