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
from .configuration import READERS, configuration_of
from .reading import Configuration

GAIN = 0.02
"""Advice retains at least this much more of Pass@k."""
NONE, FORWARD, REVERSE = "none", "forward", "reverse"
NAMES = {NONE: "no KL", FORWARD: "k3 in the loss", REVERSE: "k2 or corrected k3"}


@dataclass(frozen=True)
class Measured:
    """Stored runs of one method: Pass@1 and Pass@k of held-out prompts, and of trained ones, base and end."""

    model: str
    parameters: int
    task: str
    method: str
    kl: str
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
class Errors:
    """Forecasts of held-out Pass@k less what was found: the rms over methods, the mean with prompts held."""

    model: str
    k: int
    rms: float
    settings: int
    held: float
    held_settings: int


@cache
def _stored() -> Mapping[str, Any]:
    found: dict[str, Any] = json.loads(Path(__file__).with_name("measured.json").read_text(encoding="utf-8"))
    return found


@cache
def measured() -> tuple[Measured, ...]:
    """The stored runs, those of the largest model first."""
    return tuple(sorted((Measured(**row) for row in _stored()["runs"]), key=lambda row: -row.parameters))


def forecast_errors() -> Errors:
    """How far forecasts of stored runs were off."""
    return Errors(**_stored()["errors"])


def kind(found: Configuration) -> str | None:
    """The kind of a run's KL, if stored runs have it; None for another, such as one in the reward."""
    if not found.coefficient:
        return NONE
    if found.term is None or not found.term.token or found.term.divergence is None:
        return None
    return FORWARD if found.term.divergence is FORWARD_KL else REVERSE


def comparable(found: Configuration) -> list[Measured]:
    """A row a model: the run's kind of KL at the nearest strength, or no KL where it has none."""
    of = kind(found)
    nearest: dict[str, Measured] = {}
    for row in measured():
        if row.kl != (of or NONE) or row.method in ("Dr. GRPO", "DAPO"):
            continue
        held = nearest.get(row.model)
        if held is None or _far(row, found.coefficient) < _far(held, found.coefficient):
            nearest[row.model] = row
    return [*nearest.values()]


def _far(row: Measured, strength: float) -> float:
    """How far a row's strength is from a run's, by their logarithms."""
    return abs(math.log(row.strength / strength)) if row.strength and strength else 0.0


def advice(
    settings: Mapping[str, Any], trainer: str, found: Configuration, version: str | None
) -> tuple[dict[str, Any], Measured] | None:
    """The fewest settings whose kind of KL retained more of Pass@k in stored runs than the run's own has.

    The strengths are those of the runs, whose steps and rewards the user's may not have. None where the
    trainer has no such setting, nothing retained more, or no stored run has this kind of KL.
    """
    own = comparable(found)
    if kind(found) is None or not own:
        return None  # What the run's own KL retains was not measured: no other is known to retain more.
    reader = READERS[trainer]
    rows = [row for row in measured() if row.parameters == measured()[0].parameters]
    least = own[0].retained + GAIN
    best: tuple[dict[str, Any], Measured] | None = None
    for change in reader.retains:
        for row in (row for row in rows if row.retained >= (best[1].retained if best else least)):
            asked = {**change, reader.coefficient: row.strength}
            if _kind_with(settings, asked, trainer, version) == row.kl:
                best = asked, row
    if best is None:
        return None
    asked, row = best
    for name in [name for name in asked if name != reader.coefficient]:
        without = {other: value for other, value in asked.items() if other != name}
        if _kind_with(settings, without, trainer, version) == row.kl:
            asked = without
    return {name: value for name, value in asked.items() if settings.get(name) != value}, row


def _kind_with(
    settings: Mapping[str, Any], change: Mapping[str, Any], trainer: str, version: str | None
) -> str | None:
    """The kind of KL with these settings too; None where they do not go together."""
    try:
        return kind(configuration_of({**settings, **change}, trainer, version=version))
    except ValueError:
        return None
