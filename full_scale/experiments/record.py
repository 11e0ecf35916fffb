"""What every experiment keeps: a run's settings, its course, and whether it matched its prediction."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from statistics import fmean
from typing import Any, Literal


@dataclass(frozen=True)
class Settings:
    """Those of every run; two runs with equal fields are the same run, and have the same id."""

    experiment: str
    task: str
    form: str
    """Of the loss: where its KL term stands, or a method's name."""
    beta: float = 0.0
    """Coefficient of the penalty; of the rehearsal, eta."""
    beta_from: float | None = None
    """beta at the first step, from which it falls geometrically to `beta` by the middle of the training."""
    learning_rate: float = 1e-3
    steps: int = 250
    seed: int | None = 0
    """None: without samples, in expectation."""
    optimiser: Literal["adam", "sgd"] = "adam"
    rank: int | None = None
    """Of a LoRA adapter; None trains every weight."""

    @cached_property
    def digest(self) -> str:
        """Of the content: that of a run does not change when fields with defaults are added."""
        return hashlib.sha256(json.dumps(self.changed, sort_keys=True).encode()).hexdigest()[:10]

    @property
    def id(self) -> str:
        """The name it is kept under."""
        return f"{self.experiment}-{self.task}-{self.form}-{self.digest}"

    @property
    def changed(self) -> dict[str, Any]:
        """The fields that are not their defaults."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            field.name: values[field.name] for field in fields(self) if values[field.name] != field.default
        }

    def beta_at(self, step: int) -> float:
        """The coefficient: beta (beta_from / beta)^(1 - 2 step / steps), and beta after half."""
        if self.beta_from is None:
            return self.beta
        return self.beta * float((self.beta_from / self.beta) ** max(1 - 2 * step / self.steps, 0.0))


@dataclass(frozen=True)
class Bounds:
    """The most by which a run that matches its prediction may miss it."""

    validity: float
    """Of the mean |V - predicted V|."""
    kl: float
    """Of the mean KL(run || law), in nats.

    Chosen before any run was compared. By Pinsker's inequality run and prediction then give no set of
    answers probabilities further apart than sqrt(kl/2), .1 (selection: .07); and it takes 1/kl answers, 50
    (100), until they carry a nat of evidence that the run is another policy. Pass rate and nearest policy
    alone let a run match whose valid answers have collapsed: P(first | valid) .99 for .90 are .07 nats.
    """


BARS, SELECTION_BARS = Bounds(0.02, 0.02), Bounds(0.01, 0.01)


def bars_of(task: str) -> Bounds:
    """Those of a task."""
    return SELECTION_BARS if task.startswith("selection") else BARS


ALIKE = 1e-6
"""Nats by which distances must differ to distinguish two predictions: on some tasks two of them coincide."""


def mean_gap(found: Sequence[float], wanted: Sequence[float]) -> float:
    """The mean over rows of |V - predicted V|."""
    return fmean(abs(one - other) for one, other in zip(found, wanted, strict=True))


def misses(law: str, distances: Mapping[str, float], gap: float, bars: Bounds = BARS) -> tuple[str, ...]:
    """What an end misses of its prediction: policy (a rival is nearer), pass rate, answers (their bars)."""
    missed = {
        "law": distances[law] > min(distances.values()) + ALIKE,
        "validity": gap > bars.validity,
        "answers": distances[law] > bars.kl,
    }
    return tuple(name for name, found in missed.items() if found)


class Finished:
    """A finished run of any kind beside its prediction: the one definition of a match."""

    run: Any
    course: tuple[Any, ...]
    distances: Any
    """KL(run || law) of each stationary policy that it might have had, by name."""
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
        least = min(self.distances.values()) + ALIKE
        return next(name for name in (self.own, *self.distances) if self.distances[name] <= least)

    @property
    def kl_to_law(self) -> float | None:
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
        """held, or what was missed."""
        missed = f"missed: {' and '.join(self.misses)}" if self.misses else "held"
        return "no law" if self.own is None else missed
