"""Dry run: resolved settings, approximate needs and missing parts of a recipe; no weights are loaded."""

import importlib.util
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from dph_theory.support.errors import RefusedError, argument_error

from ..models.generation import check_room, prompt_tokens, with_room
from ..models.load import ModelHashes, load_tokenizer
from ..presampling.result import Presampling
from ..recipe.folders import Folders
from ..recipe.methods import Setup
from ..recipe.rehearsal import DEFINITION, rehearses
from ..recipe.schema import ModelConfig, Recipe
from ..recipe.settings import SETTINGS
from ..tasks.loaders import load_task
from ..tasks.protocol import Task
from .arguments import arguments as resolved
from .arguments import check_sets, few_prompts
from .launch import ONE, Launch
from .memory import USABLE, Shape, model_shape, training_memory

GIB = 2**30
_MEASURED = 64  # Prompts whose tokens are counted, those of most characters.


@dataclass(frozen=True)
class Steps:
    """TRL's division of a training into optimiser steps; `steps` is None if the number of prompts is."""

    device_rows: int
    rows_at_once: int  # Those of all devices.
    rollouts_per_step: int
    rollouts_per_generation: int
    prompts_per_generation: int
    steps_per_generation: int  # Optimizer steps on one generated batch.
    rehearsal_rows: int  # Of a step; 0 without a rehearsal.
    prompts: int | None  # Of D_exp, or of the whole training set before the pre-sampling.
    steps: int | None

    @classmethod
    def of_arguments(cls, given: Mapping[str, Any], world_size: int, prompts: int | None) -> "Steps":
        """Division into steps for OnlineConfig's arguments, number of processes and of prompts, as in TRL."""
        group, micros = given["num_generations"], given["gradient_accumulation_steps"]
        device_rows = given["per_device_train_batch_size"]
        at_once = device_rows * world_size
        step = at_once * micros
        generated = given["generation_batch_size"] or at_once * (given["steps_per_generation"] or micros)
        drawn = (given["rehearsal_rows"] or max(1, step // 2)) if rehearses(given) else 0
        steps = given["max_steps"]
        if steps <= 0:
            # Prompts that fill no generated batch are dropped; a batch is used for num_iterations passes.
            rows = generated * given["num_iterations"] * given["num_train_epochs"]
            steps = None if prompts is None else int(prompts // max(1, generated // group) * rows / step)
        cut = (generated, generated // group, max(1, generated // step))
        return cls(device_rows, at_once, step, *cut, drawn, prompts, steps)

    @property
    def rollouts(self) -> int | None:
        """Number of rollouts of the whole training; None if the number of prompts is unknown."""
        return None if self.steps is None else self.steps * self.rollouts_per_step

    def rows(self, *, apart: bool) -> int:
        """Rows whose activations a device stores at once; `apart`: the two losses go backward in turn."""
        rehearsed = -(-self.rehearsal_rows * self.device_rows // self.rollouts_per_step)
        return self.device_rows if apart else self.device_rows + rehearsed


@dataclass(frozen=True)
class DryRun:
    """Output of `dph train --dry-run`."""

    recipe: Mapping[str, Any]
    arguments: Mapping[str, Any]  # Without beta where a target needs a pre-sampling for it.
    shape: Shape | None
    memory: Mapping[str, int]  # Bytes on each device by part; empty without the model's configuration.
    prompt_tokens: int | None  # Of the longest prompt to train on; None without data or tokenizer.
    steps: Steps
    missing: tuple[str, ...]
    petaflop: float | None  # Operations of the training, if every answer takes all its tokens.
    too_large: str  # Why the training does not fit in the device; empty if it does, or without a device.
    warnings: tuple[str, ...]  # What would work, and be slow, or teach little.


def dry_run(recipe: Recipe, launch: Launch = ONE, *, device: float = 0) -> DryRun:
    """Resolve a training and estimate its needs without training.

    With the bytes of a `device`, also test whether the training fits. ValueError for faults of the recipe
    itself; parts that do not exist yet are listed as missing.
    """
    missing: list[str] = []
    presampling: Presampling | None = None
    shape: Shape | None = None
    task, left_out = _task(recipe, missing)
    with _noted(missing, "the pre-sampling"):
        stored = Presampling.load(Folders.of_recipe(recipe).presample)
        if task is not None:
            stored.check(recipe, task, ModelHashes.of_model(recipe.model.path))
            presampling = stored
    method, arguments = _arguments(recipe, presampling, missing)
    with _noted(missing, "the model's configuration and tokenizer"):
        shape = _shape_of(recipe.model.path, json.dumps(recipe.model.lora and dict(recipe.model.lora)))
    packages = {"vllm": recipe.sampling.backend == "vllm", launch.package: launch.package is not None}
    missing += [
        f"the package {package}, which the recipe or the launch names: pip install -e '.[{package}]'"
        for package, is_used in packages.items()
        if is_used and importlib.util.find_spec(str(package)) is None
    ]
    prompts = None if task is None else len(task.train)
    if presampling is not None:
        prompts = len(presampling.trained(recipe.method.prompts))
    # A penalty whose weight is not known yet needs its reference all the same.
    given = {**SETTINGS, "beta": 1.0, **arguments}
    steps = Steps.of_arguments(given, launch.world_size, prompts)
    if presampling is None and steps.steps == 0:
        missing.append(
            f"prompts enough for one generated batch: {prompts} of {steps.prompts_per_generation}, by "
            "train.generation_batch_size over train.num_generations"
        )
    _require_whole_batches(steps, given["num_generations"])
    if presampling is not None and method is not None:
        with _noted(missing):
            check_sets(recipe, method, steps.prompts_per_generation, presampling)
    longest = None if task is None or shape is None else _longest(recipe, task, shape, missing)
    memory = {} if shape is None else _memory(shape, steps, given, recipe.model.dtype, launch, longest)
    few = few_prompts(steps.rollouts_per_step / given["num_generations"])
    warnings, too_large = (*left_out, *_slow(recipe, launch), *few), _too_large(memory, device)
    operations = None if shape is None else _petaflop(shape, steps, given, longest)
    sizes = (shape, memory, longest, steps)
    return DryRun(recipe.as_dict(), arguments, *sizes, tuple(missing), operations, too_large, warnings)


def _task(recipe: Recipe, missing: list[str]) -> tuple[Task | None, list[str]]:
    """Task and sentences on prompts left out; (None, []) with the reason in `missing` if data are missing."""
    with _noted(missing, "the task's data"):
        task = load_task(recipe.task)
        task.close()
        with _noted(missing):
            return with_room(recipe, task, local=True)
        return task, []
    return None, []


@contextmanager
def _noted(missing: list[str], what: str = "") -> Iterator[None]:
    """Append to `missing` why a part (`what`) is missing or unsuitable, instead of raising."""
    try:
        yield
    except (ValueError, OSError, RefusedError) as error:
        reason = str(error).splitlines()[0]
        missing.append(f"{what} ({reason})" if what else reason)


def _longest(recipe: Recipe, task: Task, shape: Shape, missing: list[str]) -> int:
    """Tokens of the longest training prompt; in every set the prompts of most characters must fit."""
    tokenizer, longest = load_tokenizer(recipe.model, local=True), []
    for name, examples in {"training": task.train, **task.evaluation}.items():
        most = sorted(examples, key=lambda example: -len(example.prompt))[:_MEASURED]
        tokens = prompt_tokens(tokenizer, task, most, recipe.model)
        with _noted(missing):
            check_room(name, tokens, shape.context, recipe.sampling.max_new_tokens)
        longest.append(max(map(len, tokens)))
    return longest[0]


def _slow(recipe: Recipe, launch: Launch) -> list[str]:
    fsdp = launch.sharded and launch.package is None
    if not fsdp or recipe.sampling.backend == "vllm":
        return []
    return [
        "slow: FSDP spreads the weights over the devices, and transformers gathers each layer from all of "
        "them for every token that training samples; sampling.backend=vllm samples from whole weights"
    ]


def _memory(
    shape: Shape, steps: Steps, given: Mapping[str, Any], dtype: str, launch: Launch, prompt: int | None
) -> dict[str, int]:
    return training_memory(
        shape,
        width=4 if dtype == "float32" else 2,
        launch=launch,
        compares=_compares(given),
        tokens=steps.rows(apart=given["two_backward"]) * _length(shape, given, prompt),
        checkpointing=_checkpoints(given),
    )


def _petaflop(shape: Shape, steps: Steps, given: Mapping[str, Any], prompt: int | None) -> float | None:
    """Petaflop of the training's matrix products; None if the number of steps is unknown.

    2 operations per weight and token forward, 2 backward, 2 for its gradient.
    """
    if steps.steps is None or steps.rollouts is None:
        return None
    forward, length = 2 * shape.parameters, _length(shape, given, prompt)
    trained = forward * (3 if _checkpoints(given) else 2) + 2 * shape.trainable
    sampled = forward / given["num_iterations"]
    rehearsed = steps.rehearsal_rows * steps.steps * trained
    rollouts = steps.rollouts * (sampled + trained + (forward if _compares(given) else 0))
    return float(length * (rollouts + rehearsed)) / 1e15


def _length(shape: Shape, given: Mapping[str, Any], prompt: int | None) -> int:
    """Tokens of the longest row; a prompt of unknown length counts as half a completion long."""
    completion = int(given["max_completion_length"])
    return min(completion + (completion // 2 if prompt is None else prompt), shape.context)


def _compares(given: Mapping[str, Any]) -> bool:
    compares = given["online"] != "none" or given["rehearsal_form"] == DEFINITION
    return compares or bool(given["collapse_every"] or given["beta"])


def _checkpoints(given: Mapping[str, Any]) -> bool:
    checkpoints = given["activation_checkpointing"]  # Another name of the setting.
    return bool(given["gradient_checkpointing"] if checkpoints is None else checkpoints)


@lru_cache(maxsize=8)
def _shape_of(path: str, lora: str) -> Shape:
    """Shape of a model, cached: building 8 billion weights takes seconds, even without storage."""
    return model_shape(ModelConfig(path=path, lora=json.loads(lora)))


def _too_large(memory: Mapping[str, int], device: float) -> str:
    if not device or not memory or memory["total"] <= USABLE * device:
        return ""
    *parts, total = (f"{name} {size / GIB:.1f}" for name, size in memory.items())
    return (
        f"train does not fit in {device / GIB:.0f} GiB, of which {USABLE:.0%} can be planned with: "
        f"{' + '.join(parts)} = {total}"
    )


def _arguments(
    recipe: Recipe, presampling: Presampling | None, missing: list[str]
) -> tuple[Setup | None, dict[str, Any]]:
    """Method (None if unknown) and trainer arguments; no beta if it needs base rates not yet measured."""
    rates = presampling.values(presampling.trained(recipe.method.prompts)) if presampling else []
    if recipe.method.mu is None or rates:
        method = resolved(recipe, rates)
        return method, dict(method.arguments)
    missing.append("beta for the target pass rate: it follows from the pre-sampling's base rates")
    # Whatever beta will be, it is not above what it falls from.
    settings = resolved(
        replace(recipe, method=replace(recipe.method, mu=None, beta=recipe.method.beta_from))
    ).arguments
    return None, {name: value for name, value in settings.items() if name not in ("beta", "online_beta")}


def _require_whole_batches(steps: Steps, group: int) -> None:
    """Raise ValueError, as TRL does, if a generated batch is not whole micro-batches and whole groups."""
    numbers = {"rows of all processes at once": steps.rows_at_once, "generations of a prompt": group}
    for what, number in numbers.items():
        if steps.rollouts_per_generation % number:
            allowed = f"a multiple of the {number} {what}"
            raise argument_error("rollouts of a generated batch", steps.rollouts_per_generation, allowed)
