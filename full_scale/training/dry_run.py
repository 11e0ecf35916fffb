"""The dry run: what a recipe resolves to, roughly what it needs, what is missing; no weights are loaded."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dph_theory.support.errors import argument_error

from ..models.hashes import ModelHashes
from ..presampling.result import Presampling
from ..recipe.folders import Folders
from ..recipe.methods import setup
from ..recipe.schema import Recipe
from .footprint import Footprint, Shape, footprint, model_shape, stage_footprint


@dataclass(frozen=True)
class Steps:
    """How a training is cut into steps; None where the number of prompts is not known yet."""

    prompts: int | None
    """Prompts of D_exp, or of the whole training set before the pre-sampling."""
    rollouts_per_step: int
    prompts_per_generation: int
    steps_per_generation: int
    """Optimizer steps on one generated batch, as a number of times its rollouts are cut."""
    rehearsal_rows: int
    steps: int | None

    @property
    def rollouts(self) -> int | None:
        """Rollouts of the whole training."""
        return None if self.steps is None else self.steps * self.rollouts_per_step


@dataclass(frozen=True)
class Launch:
    """How a training is started."""

    world_size: int = 1
    sharded: bool = False
    """By FSDP or ZeRO 3."""
    package: str | None = None
    """What it needs beyond torch and accelerate."""

    @classmethod
    def read(cls, path: Path) -> "Launch":
        """From a file of `accelerate launch`; ValueError if it is none."""
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict) or "distributed_type" not in found:
            raise argument_error("launch", str(path), "a file of accelerate launch, with distributed_type")
        deepspeed = found["distributed_type"] == "DEEPSPEED"
        stage = found.get("deepspeed_config", {}).get("zero_stage")
        sharded = found["distributed_type"] == "FSDP" or stage == 3
        return cls(int(found.get("num_processes", 1)), sharded, "deepspeed" if deepspeed else None)


@dataclass(frozen=True)
class DryRun:
    """What `dph train --dry-run` prints."""

    recipe: Mapping[str, Any]
    arguments: Mapping[str, Any]
    """Of DPHConfig; without the method's where its target needs a pre-sampling."""
    shape: Shape | None
    memory: Mapping[str, Footprint]
    """By stage; empty where the model's configuration is not at hand."""
    steps: Steps
    missing: tuple[str, ...]


def dry_run(recipe: Recipe, launch: Launch = Launch()) -> DryRun:
    """What a training resolves to and needs, worked out without training.

    ValueError for what the recipe itself has wrong; what is merely not there yet is listed as missing.
    """
    missing: list[str] = []
    presampling = _presampling(recipe, missing)
    arguments = _arguments(recipe, presampling, missing)
    prompts = (
        len(presampling.trained(recipe.method.prompts)) if presampling else _training_prompts(recipe, missing)
    )
    shape = _shape(recipe, missing)
    if recipe.sampling.backend == "vllm" and importlib.util.find_spec("vllm") is None:
        missing.append("the package vllm, which sampling.backend names")
    if launch.package is not None and importlib.util.find_spec(launch.package) is None:
        missing.append(f"the package {launch.package}, which the launch needs: pip install -e '.[deepspeed]'")
    steps = _steps(arguments, prompts, launch.world_size)
    if presampling is not None:
        _sets(recipe, presampling, steps.prompts_per_generation, missing)
    memory = {}
    if shape is not None:
        spread: Any = {"world_size": launch.world_size, "sharded": launch.sharded}
        memory = {
            "presample": stage_footprint(shape, recipe),
            "train": footprint(shape, arguments, dtype=recipe.model.dtype, **spread),
            "evaluate": stage_footprint(shape, recipe, models=2),
        }
    return DryRun(recipe.as_dict(), arguments, shape, memory, steps, tuple(missing))


def _presampling(recipe: Recipe, missing: list[str]) -> Presampling | None:
    try:
        found = Presampling.load(Folders.of(recipe).presample)
        found.check(recipe, ModelHashes.of(recipe.model.path))
        return found
    except (ValueError, OSError) as error:
        missing.append(f"the pre-sampling ({error})")
        return None


def _arguments(recipe: Recipe, presampling: Presampling | None, missing: list[str]) -> dict[str, Any]:
    from .stage import resolved

    base_rates = presampling.values(presampling.trained(recipe.method.prompts)) if presampling else []
    if recipe.method.mu is not None and not base_rates:
        missing.append("beta for the target validity: it follows from the pre-sampling's base rates")
        return {**recipe.train, "rehearsal_rows": recipe.method.rehearsal_rows}
    return resolved(recipe, base_rates)


def _sets(recipe: Recipe, presampling: Presampling, prompts: int, missing: list[str]) -> None:
    from .stage import check_sets

    try:
        base_rates = presampling.values(presampling.trained(recipe.method.prompts))
        check_sets(recipe, setup(recipe.method, base_rates), prompts, presampling)
    except ValueError as error:
        missing.append(str(error))


def _training_prompts(recipe: Recipe, missing: list[str]) -> int | None:
    from ..tasks.loaders import load_task

    try:
        task = load_task(recipe.task)
    except (ValueError, OSError) as error:
        missing.append(f"the task's data ({error})")
        return None
    task.verifier.close()
    return len(task.train)


def _shape(recipe: Recipe, missing: list[str]) -> Shape | None:
    try:
        return model_shape(recipe.model)
    except (ValueError, OSError) as error:
        missing.append(f"the model's configuration and tokenizer ({str(error).splitlines()[0]})")
        return None


def _steps(arguments: Mapping[str, Any], prompts: int | None, world_size: int) -> Steps:
    """The numbers as TRL computes them: a generated batch is used for num_iterations passes.

    ValueError for a generated batch that is not whole micro-batches, or not whole groups, as TRL's.
    """
    at_once = arguments.get("per_device_train_batch_size", 8) * world_size
    accumulated = arguments.get("gradient_accumulation_steps", 1)
    per_step = at_once * accumulated
    each = arguments.get("num_generations", 8)
    cut = arguments.get("steps_per_generation") or accumulated
    generated = arguments.get("generation_batch_size") or at_once * cut
    for number, what in ((at_once, "rows of all processes at once"), (each, "generations of a prompt")):
        if generated % number:
            raise argument_error(
                "rollouts of a generated batch", generated, f"a multiple of the {number} {what}"
            )
    iterations = arguments.get("num_iterations", 1)
    steps = arguments.get("max_steps", -1)
    if steps <= 0:
        # The dataloader sees a prompt each times over, and drops the prompts that fill no generated batch.
        batches = None if prompts is None else prompts // (generated // each)
        epochs = arguments.get("num_train_epochs", 3)
        steps = None if batches is None else int(batches * generated * iterations / per_step * epochs)
    rows = arguments["rehearsal_rows"] if arguments.get("eta") else 0
    return Steps(prompts, per_step, generated // each, max(1, generated // per_step), rows, steps)
