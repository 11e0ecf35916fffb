"""What stored runs retained of Pass@k, which settings retained more, and how far forecasts of them were off.

`measured.json` is made from the stored records (docs/measured.py).
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..divergences import FORWARD_KL
from .configuration import Configuration
from .interpretation import READERS, needed, with_change

GAIN = 0.02
"""Advice retains at least this much more of Pass@k."""
NONE, FORWARD, REVERSE = "none", "forward", "reverse"
NAMES = {NONE: "no KL", FORWARD: "k3 in the loss", REVERSE: "k2 or corrected k3"}


@dataclass(frozen=True)
class StoredRuns:
    """Stored runs of one method: Pass@1 and Pass@k of held-out prompts, and of trained ones, base and end."""

    model: str
    parameters: int
    task: str
    method: str
    form: str
    """Of the KL on trained prompts: an estimator, or none."""
    kl: str
    """Which kind of KL that is, or else a rehearsal, a target, or none."""
    strength: float
    seeds: int
    k: int
    held_out: Mapping[str, Sequence[float]]
    trained: Mapping[str, Sequence[float]] | None = None

    @property
    def retained(self) -> float:
        """Pass@k of held-out prompts at the end."""
        return self.held_out["end"][1]

    @property
    def words(self) -> str:
        """The KL and its strength."""
        return f"{NAMES[self.kl]} at {self.strength:g}" if self.strength else NAMES[self.kl]


@dataclass(frozen=True)
class ForecastErrors:
    """Forecasts of held-out Pass@k less the runs' own: rms over methods, mean with prompts constrained."""

    model: str
    rms: float
    settings: int
    constrained: float


@cache
def _stored() -> Mapping[str, Any]:
    text = Path(__file__).with_name("measured.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


@cache
def measured() -> tuple[StoredRuns, ...]:
    """The stored runs, those of the largest model first."""
    return tuple(sorted((StoredRuns(**row) for row in _stored()["runs"]), key=lambda row: -row.parameters))


def forecast_errors() -> ForecastErrors:
    """How far forecasts of stored runs were off."""
    errors = _stored()["errors"]
    return ForecastErrors(errors["model"], errors["rms"], errors["settings"], constrained=errors["held"])


def kind(configuration: Configuration) -> str | None:
    """The kind of a run's KL, if stored runs have it; None for another, such as one in the reward."""
    if not configuration.coefficient:
        return NONE
    if configuration.term is None or not configuration.term.token or configuration.term.divergence is None:
        return None
    return FORWARD if configuration.term.divergence is FORWARD_KL else REVERSE


def comparable(configuration: Configuration) -> list[StoredRuns]:
    """A row a model: the run's kind of KL at the nearest strength, or no KL where it has none."""
    kl, strength = kind(configuration) or NONE, configuration.coefficient

    def log_distance(row: StoredRuns) -> float:
        return abs(math.log(row.strength / strength)) if row.strength and strength else 0.0

    nearest: dict[str, StoredRuns] = {}
    for row in sorted(measured(), key=log_distance):
        if row.kl == kl and row.method not in ("Dr. GRPO", "DAPO"):
            nearest.setdefault(row.model, row)
    return sorted(nearest.values(), key=measured().index)


def advice(
    settings: Mapping[str, Any], trainer: str, configuration: Configuration, version: str | None
) -> tuple[dict[str, Any], StoredRuns] | None:
    """The fewest settings whose kind of KL retained more of Pass@k in stored runs than the run's own has.

    The strengths are those of the runs, whose steps and rewards the user's may not have. None where the
    trainer has no such setting, nothing retained more, or no stored run has this kind of KL.
    """
    same_kind = comparable(configuration)
    if kind(configuration) is None or not same_kind:
        return None  # What the run's own KL retains was not measured: no other is known to retain more.

    def kind_with(change: Mapping[str, Any]) -> str | None:
        changed = with_change(settings, change, trainer, version)
        return None if changed is None else kind(changed)

    reader = READERS[trainer]
    rows = [row for row in measured() if row.parameters == measured()[0].parameters]
    least = same_kind[0].retained + GAIN
    best: tuple[dict[str, Any], StoredRuns] | None = None
    for kl_settings in reader.retains:
        for row in (row for row in rows if row.retained >= (best[1].retained if best else least)):
            change = {**kl_settings, reader.coefficient: row.strength}
            if kind_with(change) == row.kl:
                best = change, row
    if best is None:
        return None
    change, row = best
    change = needed(change, lambda fewer: reader.coefficient in fewer and kind_with(fewer) == row.kl)
    return {name: value for name, value in change.items() if settings.get(name) != value}, row
