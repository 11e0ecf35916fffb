"""The dry run: what a recipe resolves to, roughly what it needs, what is missing; no weights are loaded."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
import yaml
from peft import get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM
from trl.kernels.chunked_logprob import TOKEN_CHUNK_SIZE
from trl.trainer.utils import _CHUNKED_LOGPROB_CHUNK_SIZE

from dph_theory.support.errors import argument_error

from ..models.load import ModelHashes, load_tokenizer, lora_config, source
from ..presampling.result import Presampling
from ..recipe.folders import Folders
from ..recipe.methods import Setup, setup
from ..recipe.schema import ModelConfig, Recipe

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class Shape:
    """The sizes that decide a model's memory."""

    parameters: int
    trainable: int
    layers: int
    hidden: int
    kv_width: int
    """Key and value channels of a layer: 2 x heads x channels of a head."""
    vocabulary: int
    context: int


@dataclass(frozen=True)
class Footprint:
    """Bytes on each device, at the peak of an optimizer step; the cache is generation's, before it."""

    weights: int
    gradients: int
    optimizer: int
    reference: int
    activations: int
    logits: int
    cache: int

    @property
    def total(self) -> int:
        """The peak: generation needs the cache, the step gradients and activations, not both at once."""
        resident = self.weights + self.optimizer + self.reference
        return resident + max(self.cache, self.gradients + self.activations + self.logits)

    def as_dict(self) -> dict[str, int]:
        """The parts and the total, in bytes."""
        return {**{f.name: getattr(self, f.name) for f in fields(self)}, "total": self.total}


def model_shape(config: ModelConfig) -> Shape:
    """The shape of a model, from its configuration alone, which must be at hand; its tokenizer must be too.

    The parameters are counted on a model without storage. OSError or ValueError if they are not at hand.
    """
    found = AutoConfig.from_pretrained(**source(config.path), local_files_only=True, trust_remote_code=False)
    load_tokenizer(config, local=True)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(found, trust_remote_code=False)
        lora = lora_config(config)
        if lora is not None:
            model = get_peft_model(model, lora)
    head = getattr(found, "head_dim", None) or found.hidden_size // found.num_attention_heads
    return Shape(
        parameters=sum(p.numel() for p in model.parameters()),
        trainable=sum(p.numel() for p in model.parameters() if p.requires_grad),
        layers=found.num_hidden_layers,
        hidden=found.hidden_size,
        kv_width=2 * getattr(found, "num_key_value_heads", found.num_attention_heads) * head,
        vocabulary=found.vocab_size,
        context=found.max_position_embeddings,
    )


def footprint(
    shape: Shape, arguments: Mapping[str, Any], *, dtype: str, world_size: int = 1, sharded: bool = False
) -> Footprint:
    """The memory of a training with these DPHConfig arguments on each of `world_size` devices.

    Adam keeps two moments of every trained weight. Sharded (FSDP, ZeRO 3), weights, gradients and moments
    are float32 and spread over the devices. A transformer layer keeps about 34 bytes x tokens x width at 16
    bits for its backward pass, attention matrices left aside (Korthikanti et al., arXiv 2205.05198); with
    checkpointing only its input, and one layer at a time in full. Rehearsal rows stand beside the
    exploration's in the same step unless `two_backward`. A completion counts in full length: an upper bound
    for activations, logits and cache; fragmentation and the framework's own memory are not counted. TRL's
    head holds the logits of one slice at a time, and float32 gradients of what goes into it.
    """
    width = BYTES[dtype]
    spread, kept = (world_size, 4) if sharded else (1, width)
    frozen = shape.parameters - shape.trainable
    reference = _needs_reference(arguments) and shape.trainable == shape.parameters
    completion = min(int(arguments.get("max_completion_length", 256)), shape.context)
    rows, generated = _rows(arguments, world_size)
    # The prompt's length is not known before the data are: half a completion more.
    tokens = rows * min(completion * 3 // 2, shape.context)
    layer = 34 * width // 2 * tokens * shape.hidden
    checkpoints = shape.layers * tokens * shape.hidden * width + layer
    return Footprint(
        weights=(shape.trainable * kept + frozen * width) // spread,
        gradients=shape.trainable * kept // spread,
        optimizer=2 * shape.trainable * kept // spread,
        reference=shape.parameters * width // spread if reference else 0,
        activations=checkpoints if _checkpoints(arguments) else shape.layers * layer,
        logits=_slice(shape, rows * completion, width)
        + 4 * shape.hidden * (rows * completion + (shape.vocabulary if frozen == 0 else 0)),
        cache=0
        if arguments.get("use_vllm")
        else generated * min(completion * 3 // 2, shape.context) * shape.layers * shape.kv_width * width,
    )


def stage_footprint(shape: Shape, recipe: Recipe, *, models: int = 1) -> Footprint:
    """The memory of pre-sampling, or of an evaluation of two `models`, on a device of its own.

    Generation keeps keys and values of `sampling.batch_size` rows in full length, half of it the prompt's;
    log-probabilities take one layer's intermediate values of `sampling.batch_tokens` tokens and one slice of
    their logits.
    """
    sampling, width = recipe.sampling, BYTES[recipe.model.dtype]
    length = min(sampling.max_new_tokens * 3 // 2, shape.context)
    tokens = max(sampling.batch_tokens, length)
    return Footprint(
        weights=models * shape.parameters * width,
        gradients=0,
        optimizer=0,
        reference=0,
        activations=34 * width // 2 * tokens * shape.hidden,
        logits=_slice(shape, tokens, width),
        cache=0
        if sampling.backend == "vllm"
        else sampling.batch_size * length * shape.layers * shape.kv_width * width,
    )


def _slice(shape: Shape, tokens: int, width: int) -> int:
    """Bytes of the logits that TRL's head holds at a time."""
    return min(tokens, TOKEN_CHUNK_SIZE) * min(shape.vocabulary, _CHUNKED_LOGPROB_CHUNK_SIZE) * width


def _checkpoints(arguments: Mapping[str, Any]) -> bool:
    """TRL checkpoints unless told otherwise, under either of the setting's two names."""
    old = arguments.get("gradient_checkpointing", True)
    return bool(arguments.get("activation_checkpointing", old))


def _needs_reference(arguments: Mapping[str, Any]) -> bool:
    online = arguments.get("online", "none") != "none" or bool(arguments.get("collapse_every"))
    return bool(arguments.get("beta")) or online


def _rows(arguments: Mapping[str, Any], world_size: int) -> tuple[int, int]:
    """Rows whose activations a device holds at once, and rows it generates at once."""
    batch = arguments.get("per_device_train_batch_size", 8)
    micros = arguments.get("gradient_accumulation_steps", 1)
    cut = arguments.get("steps_per_generation") or micros
    generated = arguments.get("generation_batch_size") or batch * cut * world_size
    rehearsed = -(-arguments["rehearsal_rows"] // (world_size * micros)) if arguments.get("eta") else 0
    rows = max(batch, min(rehearsed, batch)) if arguments.get("two_backward") else batch + rehearsed
    return rows, -(-generated // world_size)


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
    method = _method(recipe, presampling, missing)
    arguments = _arguments(recipe, method)
    prompts = (
        len(presampling.trained(recipe.method.prompts)) if presampling else _training_prompts(recipe, missing)
    )
    shape = _shape(recipe, missing)
    if recipe.sampling.backend == "vllm" and importlib.util.find_spec("vllm") is None:
        missing.append("the package vllm, which sampling.backend names")
    if launch.package is not None and importlib.util.find_spec(launch.package) is None:
        missing.append(f"the package {launch.package}, which the launch needs: pip install 'dph[deepspeed]'")
    steps = _steps(arguments, prompts, launch.world_size)
    if presampling is not None and method is not None:
        _sets(recipe, method, presampling, steps.prompts_per_generation, missing)
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


def _method(recipe: Recipe, presampling: Presampling | None, missing: list[str]) -> Setup | None:
    base_rates = presampling.values(presampling.trained(recipe.method.prompts)) if presampling else []
    if recipe.method.mu is not None and not base_rates:
        missing.append("beta for the target validity: it follows from the pre-sampling's base rates")
        return None
    return setup(recipe.method, base_rates)


def _arguments(recipe: Recipe, method: Setup | None) -> dict[str, Any]:
    from .stage import resolved

    if method is None:
        return {**recipe.train, "rehearsal_rows": recipe.method.rehearsal_rows}
    return resolved(recipe, method)


def _sets(recipe: Recipe, method: Setup, presampling: Presampling, prompts: int, missing: list[str]) -> None:
    from .stage import check_sets

    try:
        check_sets(recipe, method, prompts, presampling)
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
        # Each prompt is repeated num_generations times; prompts that fill no generated batch are dropped.
        batches = None if prompts is None else prompts // (generated // each)
        epochs = arguments.get("num_train_epochs", 3)
        steps = None if batches is None else int(batches * generated * iterations / per_step * epochs)
    rows = arguments["rehearsal_rows"] if arguments.get("eta") else 0
    return Steps(prompts, per_step, generated // each, max(1, generated // per_step), rows, steps)
