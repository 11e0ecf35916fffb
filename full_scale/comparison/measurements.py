"""What a run measured: its evaluation paired, prompt by prompt, with that of the initial model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from dph_theory.support.errors import argument_error
from dph_theory.support.record import read_record

from ..recipe.methods import setup
from ..recipe.schema import MethodConfig

BASE = "base"
"""The folder of the initial model's own evaluation, beside the runs."""


@dataclass(frozen=True)
class Measured:
    """A set of prompts under a run: verdicts, and sequence log-probabilities under the run and the base.

    `base_correct` are the base's own samples on the same prompts, drawn apart from those that chose the set.
    """

    ids: tuple[str, ...]
    correct: Bool[np.ndarray, "prompts samples"]
    log_pi: Float[np.ndarray, "prompts samples"]
    log_ref: Float[np.ndarray, "prompts samples"]
    base_correct: Bool[np.ndarray, "prompts base_samples"]

    @property
    def rate(self) -> Float[np.ndarray, " prompts"]:
        """The measured pass rates V(x)."""
        return self.correct.mean(axis=1)

    @property
    def base_rate(self) -> Float[np.ndarray, " prompts"]:
        """The base's measured pass rates A1(x)."""
        return self.base_correct.mean(axis=1)

    @property
    def log_ratio(self) -> Float[np.ndarray, "prompts samples"]:
        """Log pi/pi_ref of the run's samples, whose mean estimates KL(pi || pi_ref) without bias."""
        return self.log_pi - self.log_ref


@dataclass(frozen=True)
class Run:
    """A run's records, and its sets paired with the base's."""

    name: str
    config: Mapping[str, Any]
    """The recipe it was trained by."""
    training: Mapping[str, Any]
    evaluation: Mapping[str, Any]
    sets: Mapping[str, Measured]

    @cached_property
    def arguments(self) -> Mapping[str, Any]:
        """The method as the trainer took it (`methods.setup`): beta resolved, divergence and gauge named."""
        method = MethodConfig(**self.config["method"])
        rates = self.training.get("base_rates", {})
        return setup(method, [rates[name] for name in self.training.get("explored", ())]).arguments

    @property
    def rehearsed_rows(self) -> Sequence[Mapping[str, Any]]:
        """The rows of the rehearsal buffer under the run: id, log_ref, log_pi (and more, where stored)."""
        return (self.evaluation.get("rehearsed") or {}).get("rows", ())


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """The runs of these folders, the base's evaluation being read from `base` beside each.

    Raises ValueError that names a missing or malformed file, or a set that shares no prompt with the base's.
    """
    if not folders:
        raise argument_error("runs", [], "at least one run folder")
    named = [folder for folder in folders if folder.resolve().name != BASE]
    if not named:
        raise argument_error(
            "runs", [str(folder) for folder in folders], "at least one run other than the base's"
        )
    return [_read_run(folder.resolve()) for folder in named]


def _read_run(folder: Path) -> Run:
    evaluation = read_record(folder / "evaluation.json", "full_scale.evaluation", "dph evaluate")
    base = read_record(folder.parent / BASE / "evaluation.json", "full_scale.evaluation", "dph evaluate")
    training = read_record(folder / "training.json", "full_scale.training", "dph train")
    base_sets = base["results"]["sets"]
    sets = {
        name: paired(f"{folder.name} {name}", entry["prompts"], base_sets[name]["prompts"])
        for name, entry in evaluation["results"]["sets"].items()
        if name in base_sets and entry["prompts"]
    }
    return Run(folder.name, training["config"], training["results"], evaluation["results"], sets)


def paired(name: str, prompts: Sequence[Mapping[str, Any]], base: Sequence[Mapping[str, Any]]) -> Measured:
    """The prompts that both evaluations hold, in the run's order."""
    base_correct = {entry["id"]: entry["correct"] for entry in base}
    both = [entry for entry in prompts if entry["id"] in base_correct]
    if not both:
        raise argument_error(
            name, [entry["id"] for entry in prompts][:3], "prompts that the base's evaluation has too"
        )
    return Measured(
        tuple(str(entry["id"]) for entry in both),
        _table(f"{name} correct", [entry["correct"] for entry in both]).astype(bool),
        _table(f"{name} log_pi", [entry["log_pi"] for entry in both]),
        _table(f"{name} log_ref", [entry["log_ref"] for entry in both]),
        _table(f"{name} base", [base_correct[entry["id"]] for entry in both]).astype(bool),
    )


def _table(name: str, rows: Sequence[Sequence[float]]) -> np.ndarray:
    lengths = {len(row) for row in rows}
    if len(lengths) != 1 or 0 in lengths:
        raise argument_error(
            name, sorted(lengths), "as many samples, at least one, for every prompt of a set"
        )
    return np.array(rows, dtype=float)
