"""The dry run: what a recipe resolves to, roughly what it needs, what is missing; no weights are loaded."""

import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from dph_theory.support.errors import argument_error

from ..models.generation import prompt_tokens
from ..models.load import ModelHashes, load_tokenizer
from ..presampling.result import Presampling
from ..recipe.folders import Folders
from ..recipe.methods import Setup
from ..recipe.schema import ModelConfig, Recipe
from ..tasks.protocol import Task
from .launch import ONE, Launch
from .memory import USABLE, Footprint, Shape, footprint, model_shape, stage_footprint

GIB = 2**30
STAGES = ("presample", "train", "evaluate")
_MEASURED = 64
"""Prompts whose tokens are counted, those of most characters."""


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
class DryRun:
    """What `dph train --dry-run` prints."""

    recipe: Mapping[str, Any]
    arguments: Mapping[str, Any]
    """Of DPHConfig; without beta where a target needs a pre-sampling for it."""
    shape: Shape | None
    memory: Mapping[str, Footprint]
    """By stage; empty where the model's configuration is not at hand."""
    prompt_tokens: int | None
    """Of the longest prompt to train on; None where data or tokenizer are not at hand."""
    steps: Steps
    missing: tuple[str, ...]
    too_large: tuple[str, ...] = ()
    """For each stage that does not fit in the device: what it needs, and how that adds up."""
    warnings: tuple[str, ...] = ()
    """What would work, and be slow."""


def dry_run(recipe: Recipe, launch: Launch = ONE, *, device: float = 0) -> DryRun:
    """What a training resolves to and needs, worked out without training.

    With the bytes of a `device`, whether each stage fits in it. ValueError for what the recipe itself has
    wrong; what is merely not there yet is listed as missing.
    """
    missing: list[str] = []
    task = _task(recipe, missing)
    presampling = _presampling(recipe, task, missing)
    method = _method(recipe, presampling, missing)
    arguments = _arguments(recipe, method)
    prompts = len(task.train) if task is not None else None
    if presampling is not None:
        prompts = len(presampling.trained(recipe.method.prompts))
    shape = _shape(recipe, missing)
    if recipe.sampling.backend == "vllm" and importlib.util.find_spec("vllm") is None:
        missing.append("the package vllm, which sampling.backend names: pip install 'dph[vllm]'")
    if launch.package is not None and importlib.util.find_spec(launch.package) is None:
        missing.append(f"the package {launch.package}, which the launch needs: pip install 'dph[deepspeed]'")
    steps = _steps(arguments, prompts, launch.world_size)
    if presampling is not None and method is not None:
        _sets(recipe, method, presampling, steps.prompts_per_generation, missing)
    stages = STAGES if shape is not None else ()
    longest = None if task is None or shape is None else _longest(recipe, task)
    memory = {stage: _memory(stage, recipe, launch, device, longest) for stage in stages}
    too_large = [
        _too_large(stage, found, device)
        for stage, found in memory.items()
        if device and not found.fits(device)
    ]
    return DryRun(
        recipe=recipe.as_dict(),
        arguments=arguments,
        shape=shape,
        memory=memory,
        prompt_tokens=longest,
        steps=steps,
        missing=tuple(missing),
        too_large=tuple(too_large),
        warnings=tuple(_slow(recipe, launch)),
    )


def _longest(recipe: Recipe, task: Task) -> int:
    """Tokens of the longest training prompt, among those of most characters."""
    most = sorted(task.train, key=lambda example: -len(example.prompt))[:_MEASURED]
    tokenizer = load_tokenizer(recipe.model, local=True)
    return max(map(len, prompt_tokens(tokenizer, task, most, recipe.model)))


def _slow(recipe: Recipe, launch: Launch) -> list[str]:
    fsdp = launch.sharded and launch.package is None
    if not fsdp or recipe.sampling.backend == "vllm":
        return []
    return [
        "FSDP spreads the weights over the devices, and transformers gathers each layer from all of them for "
        "every token that training samples; sampling.backend=vllm samples from whole weights"
    ]


def _memory(stage: str, recipe: Recipe, launch: Launch, device: float, prompt: int | None) -> Footprint:
    shape = _built(recipe.model)
    if stage != "train":
        models = 2 if stage == "evaluate" else 1
        return stage_footprint(shape, recipe, models=models, device=device, prompt=prompt)
    arguments = _arguments(recipe, _method(recipe, None, []))
    return footprint(shape, arguments, dtype=recipe.model.dtype, launch=launch, device=device, prompt=prompt)


def _built(config: ModelConfig) -> Shape:
    return _shape_of(config.path, json.dumps(config.lora and dict(config.lora)))


@lru_cache(maxsize=8)
def _shape_of(path: str, lora: str) -> Shape:
    """Kept: to build a model of 8 billion weights takes seconds, even without storage."""
    return model_shape(ModelConfig(path=path, lora=json.loads(lora)))


def _too_large(stage: str, found: Footprint, device: float) -> str:
    """The sentence on a stage that does not fit, with the arithmetic."""
    parts = {name: f"{name} {size / GIB:.1f}" for name, size in found.as_dict().items()}
    step = f"gradients + activations + logits {found.step / GIB:.1f}"
    return (
        f"{stage} does not fit in {device / GIB:.0f} GiB, of which {USABLE:.0%} can be planned with, because "
        f"it takes {found.total / GIB:.1f}: {parts['weights']} + {parts['optimizer']} + {parts['reference']} "
        f"+ the larger of {parts['cache']} and {step}"
    )


def _presampling(recipe: Recipe, task: Task | None, missing: list[str]) -> Presampling | None:
    try:
        found = Presampling.load(Folders.of(recipe).presample)
        if task is None:
            missing.append("the task's prompts, with which the pre-sampling is to be compared")
            return None
        found.check(recipe, task, ModelHashes.of(recipe.model.path))
        return found
    except (ValueError, OSError) as error:
        missing.append(f"the pre-sampling ({error})")
        return None


def _method(recipe: Recipe, presampling: Presampling | None, missing: list[str]) -> Setup | None:
    from .arguments import arguments

    base_rates = presampling.values(presampling.trained(recipe.method.prompts)) if presampling else []
    if recipe.method.mu is not None and not base_rates:
        missing.append("beta for the target validity: it follows from the pre-sampling's base rates")
        return None
    return arguments(recipe, base_rates)


def _arguments(recipe: Recipe, method: Setup | None) -> dict[str, Any]:
    from .arguments import arguments

    if method is not None:
        return dict(method.arguments)
    # Everything but beta, which follows from the target, is known and held against what there is.
    found = arguments(replace(recipe, method=replace(recipe.method, mu=None))).arguments
    return {name: value for name, value in found.items() if name not in ("beta", "online_coefficient")}


def _sets(recipe: Recipe, method: Setup, presampling: Presampling, prompts: int, missing: list[str]) -> None:
    from .train import check_sets

    try:
        check_sets(recipe, method, prompts, presampling)
    except ValueError as error:
        missing.append(str(error))


def _task(recipe: Recipe, missing: list[str]) -> Task | None:
    from ..tasks.loaders import load_task

    try:
        task = load_task(recipe.task)
    except (ValueError, OSError) as error:
        missing.append(f"the task's data ({error})")
        return None
    task.close()
    return task


def _shape(recipe: Recipe, missing: list[str]) -> Shape | None:
    try:
        return _built(recipe.model)
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
        # Each prompt is repeated num_generations times; prompts that fill no generated batch are dropped.
        batches = None if prompts is None else prompts // (generated // each)
        epochs = arguments.get("num_train_epochs", 3)
        steps = None if batches is None else int(batches * generated * iterations / per_step * epochs)
    rows = (arguments.get("rehearsal_rows") or max(1, per_step // 2)) if arguments.get("eta") else 0
    return Steps(prompts, per_step, generated // each, max(1, generated // per_step), rows, steps)
