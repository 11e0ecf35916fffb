"""Record of a training: its settings, and its log by step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dph_theory.support.checking import build
from dph_theory.support.errors import RefusedError, argument_error
from dph_theory.support.files import write_json
from dph_theory.support.record import flat, from_json, read_record, record

from ..recipe.schema import Recipe

KIND = "full_scale.training"
_CUTS = ("per_device_train_batch_size", "gradient_accumulation_steps", "activation_checkpointing", "use_cpu")
_FREE = (
    *("output", "name", "sampling.batch_size", "sampling.batch_tokens"),
    *("sampling.backend", "sampling.vllm_memory"),
    *(f"train.{name}" for name in (*_CUTS, "save_steps", "save_total_limit", "logging_steps")),
)
"""Settings in which an evaluation may differ from its training, because they change no probability."""
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
    initial_hash: str
    """Hash of the model that training began from."""
    trained_hash: str
    """Hash of the model that training wrote."""

    @classmethod
    def read(cls, path: Path) -> "TrainingRecord":
        """Read a record; ValueError describes its fault, RefusedError that there is none."""
        stored = read_record(path, KIND, "dph train --config ...")
        described = {name: stored[name] for name in ("config", "findings")}
        return from_json(cls, {**stored["results"], **described})

    def require_recipe(self, recipe: Recipe) -> None:
        """Raise ValueError unless the recipe, without evaluation and batch sizes, is that of the training."""
        stored, given = flat(build(Recipe, self.config, "").as_dict()), flat(recipe.as_dict())
        for key in sorted({*stored, *given}):
            free = key.startswith("evaluate.") or key in _FREE
            if not free and stored.get(key) != given.get(key):
                allowed = f"{stored.get(key)!r}, with which {self.run} was trained"
                raise argument_error(key, given.get(key), allowed)

    def require_model(self, present_hash: str, folder: Path) -> None:
        """Raise RefusedError unless the model in the folder, which has this hash, is the trained one."""
        if present_hash != self.trained_hash:
            raise RefusedError(
                f"{folder} does not contain the model that {folder.with_name('training.json')} describes: "
                "its weights or configuration changed after the training; restore them, or train again"
            )

    def write(self, path: Path) -> None:
        """Store the record atomically, with the versions of the libraries."""
        results = {name: value for name, value in vars(self).items() if name not in ("config", "findings")}
        described: Any = {"seed": self.config["seed"], "config": self.config, "findings": self.findings}
        write_json(path, record(KIND, results=results, packages=PACKAGES, **described))
