"""A run's settings, and its outcome: whether it matched the policy that was predicted before it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from statistics import fmean
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Fields that say what a run is; runs with equal fields are the same run, and have the same digest."""

    @cached_property
    def digest(self) -> str:
        """Of the content: that of a run does not change when fields with defaults are added."""
        return hashlib.sha256(json.dumps(self.changed, sort_keys=True).encode()).hexdigest()[:10]

    @property
    def changed(self) -> dict[str, Any]:
        """The fields that are not their defaults."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {name: setting for name, (setting, default) in values.items() if setting != default}


def annealed(beta: float, beta_from: float | None, progress: float) -> float:
    """The coefficient when so much is done: beta (beta_from / beta)^(1 - 2 progress), and beta after half."""
    if beta_from is None:
        return beta
    return beta * float((beta_from / beta) ** max(1 - 2 * progress, 0.0))


@dataclass(frozen=True)
class Bounds:
    """The most by which a run that matches its prediction may miss it."""

    pass_rate: float
    """Of the mean |V - predicted V|."""
    kl: float
    """Of the mean KL(run || predicted policy), in nats.

    Chosen before any run was compared. By Pinsker's inequality run and prediction then give no set of
    answers probabilities further apart than sqrt(kl/2), .1 (selection: .07); and it takes 1/kl answers, 50
    (100), until they carry a nat of evidence that the run is another policy. Pass rate and nearest policy
    alone let a run match whose valid answers have collapsed: P(first | valid) .99 for .90 are .07 nats.
    """


BARS, SELECTION_BARS = Bounds(0.02, 0.02), Bounds(0.01, 0.01)
SELECTION_TASKS = ("selection-2", "selection-3")


def bars_of(task: str) -> Bounds:
    """Those of a task."""
    return SELECTION_BARS if task in SELECTION_TASKS else BARS


SAME_DISTANCE = 1e-6
"""Nats by which distances must differ to distinguish two predictions: on some tasks two of them coincide."""


def mean_gap(measured: Sequence[float], predicted: Sequence[float]) -> float:
    """The mean over rows of |V - predicted V|."""
    return fmean(abs(rate - expected) for rate, expected in zip(measured, predicted, strict=True))


def misses(policy: str, distances: Mapping[str, float], gap: float, bars: Bounds = BARS) -> tuple[str, ...]:
    """What an end misses of its prediction: policy (a rival is nearer), pass rate, answers (their bars)."""
    missed = {
        "policy": distances[policy] > min(distances.values()) + SAME_DISTANCE,
        "pass rate": gap > bars.pass_rate,
        "answers": distances[policy] > bars.kl,
    }
    return tuple(name for name, is_missed in missed.items() if is_missed)


class Outcome:
    """A finished run of any kind beside its prediction: the one definition of a match."""

    run: Any
    course: tuple[Any, ...]
    distances: Any
    """KL(run || policy) of each stationary policy that it might have had, by name."""
    own: Any
    """The name of its own; None where theory says nothing of its end."""
    gap: Any
    """The mean |V - its predicted V|."""

    @property
    def last(self) -> Any:
        """The end of the run."""
        return self.course[-1]

    @property
    def nearest(self) -> str | None:
        """The stationary policy nearest, its own if that is as near; None where none was predicted."""
        if self.own is None:
            return None
        least = min(self.distances.values()) + SAME_DISTANCE
        return next(name for name in (self.own, *self.distances) if self.distances[name] <= least)

    @property
    def kl_to_prediction(self) -> float | None:
        """The distance to the run's own prediction."""
        return None if self.own is None else self.distances[self.own]

    @property
    def misses(self) -> tuple[str, ...]:
        """What of its prediction it misses, by the bars of its task; nothing where there is none."""
        if self.own is None:
            return ()
        return misses(self.own, self.distances, self.gap or 0.0, bars_of(self.run.task))

    @property
    def verdict(self) -> str:
        """matched, what was missed, or that nothing was predicted."""
        if self.own is None:
            return "no prediction"
        return f"missed: {' and '.join(self.misses)}" if self.misses else "matched"
