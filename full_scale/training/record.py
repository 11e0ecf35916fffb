"""Record of a training: its settings, and its log by step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dph_theory.support.files import write_json
from dph_theory.support.record import read_record, record

KIND = "full_scale.training"
PACKAGES = ("torch", "transformers", "trl", "peft", "accelerate")


@dataclass(frozen=True)
class TrainingRecord:
    """A finished training, stored at `Folders.training`."""

    config: Mapping[str, Any]  # The recipe.
    run: str
    method: str
    arguments: Mapping[str, Any]  # What the trainer got.
    log: Sequence[Mapping[str, Any]]
    """TRL's logs by step, including those of the rehearsal and of the collapse meter."""
    base_rates: Mapping[str, float]  # Measured base pass rates of all training prompts.
    rehearsed: Sequence[str]  # The prompts of D_pef.
    explored: Sequence[str]  # The prompts trained on: D_exp, or all.
    steps: int
    seconds: float | None  # Wall-clock time, all starts together.
    findings: Sequence[str]
    initial_hash: str  # Which weights it began from.

    @classmethod
    def read(cls, path: Path) -> "TrainingRecord":
        """Read a record; ValueError describes its fault, RefusedError that there is none."""
        stored = read_record(path, KIND, "dph train --config ...")
        return cls(config=stored["config"], findings=stored["findings"], **stored["results"])

    def write(self, path: Path) -> None:
        """Store the record atomically, with the versions of the libraries."""
        results = {name: value for name, value in vars(self).items() if name not in ("config", "findings")}
        described: Any = {"seed": self.config["seed"], "config": self.config, "findings": self.findings}
        write_json(path, record(KIND, results=results, packages=PACKAGES, **described))
