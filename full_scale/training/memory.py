"""Roughly how much memory each stage takes of a device, and whether that fits."""

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from ..models.load import load_tokenizer, lora_config, source
from ..recipe.rehearsal import DEFINITION, rehearses
from ..recipe.schema import ModelConfig, Recipe
from ..recipe.settings import SETTINGS
from .launch import ONE, Launch

HEAD_SLICE = (4096, 32_768)
"""Tokens and words whose logits TRL's head holds at a time."""
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
MASTER = 4
"""Bytes of a number that trains: weight, gradient and each moment are float32 whatever is computed in."""
USABLE = 0.9
"""Share of a device that may be planned with: fragmentation, kernels and the framework take the rest."""


@dataclass(frozen=True)
class Shape:
    """The sizes that decide a model's memory."""

    parameters: int
    trainable: int
    layers: int
    hidden: int
    kv_width: int
    """Key and value channels of a layer: 2 x heads x channels of a head."""
    inner: int
    """Channels within a layer's MLP."""
    vocabulary: int
    embedded: int
    """Weights of the embedding and, where it is another, of the head."""
    context: int

    def layer(self, width: int) -> int:
        """Bytes a token that a Llama layer keeps for its backward pass, numbers being `width` bytes.

        Under autocast (2 bytes) the norms keep their input, and what they make of it, in float32, and each
        projection a copy of its own in 16 bits.
        """
        return (30 if width == 2 else 32) * self.hidden + width * (self.kv_width + 4 * self.inner)


@dataclass(frozen=True)
class Steps:
    """How TRL cuts a training into steps; None where the number of prompts is not known."""

    device_rows: int
    """Rows of a device at once."""
    rows_at_once: int
    """Those of all devices."""
    rollouts_per_step: int
    rollouts_per_generation: int
    prompts_per_generation: int
    steps_per_generation: int
    """Optimizer steps on one generated batch, as a number of times its rollouts are cut."""
    rehearsal_rows: int
    """Of a step; 0 without a rehearsal."""
    prompts: int | None
    """Prompts of D_exp, or of the whole training set before the pre-sampling."""
    steps: int | None

    @classmethod
    def of_arguments(
        cls, arguments: Mapping[str, Any], world_size: int, prompts: int | None = None
    ) -> "Steps":
        """Those of OnlineConfig's arguments, or their defaults, on so many processes, as TRL's."""
        given = {**SETTINGS, **arguments}
        group, micros = given["num_generations"], given["gradient_accumulation_steps"]
        at_once = given["per_device_train_batch_size"] * world_size
        step = at_once * micros
        generated = given["generation_batch_size"] or at_once * (given["steps_per_generation"] or micros)
        drawn = (given["rehearsal_rows"] or max(1, step // 2)) if rehearses(given) else 0
        steps = given["max_steps"]
        if steps <= 0:
            # Prompts that fill no generated batch are dropped; a batch is used for num_iterations passes.
            batches = None if prompts is None else prompts // max(1, generated // group)
            rows = generated * given["num_iterations"] * given["num_train_epochs"]
            steps = None if batches is None else int(batches * rows / step)
        return cls(
            device_rows=given["per_device_train_batch_size"],
            rows_at_once=at_once,
            rollouts_per_step=step,
            rollouts_per_generation=generated,
            prompts_per_generation=generated // group,
            steps_per_generation=max(1, generated // step),
            rehearsal_rows=drawn,
            prompts=prompts,
            steps=steps,
        )

    @property
    def rollouts(self) -> int | None:
        """Rollouts of the whole training."""
        return None if self.steps is None else self.steps * self.rollouts_per_step

    def rows(self, *, apart: bool) -> int:
        """Rows whose activations a device holds at once: both losses', or of one after the other."""
        rehearsed = -(-self.rehearsal_rows * self.device_rows // self.rollouts_per_step)
        return self.device_rows if apart else self.device_rows + rehearsed


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
        return self.weights + self.optimizer + self.reference + max(self.cache, self.step)

    @property
    def step(self) -> int:
        """What an optimizer step takes beside what is always there."""
        return self.gradients + self.activations + self.logits

    def as_dict(self) -> dict[str, int]:
        """The parts and the total, in bytes."""
        return {**asdict(self), "total": self.total}


def model_shape(config: ModelConfig) -> Shape:
    """The shape of a model, from its configuration alone, which must be at hand; its tokenizer must be too.

    The parameters are counted on a model without storage. OSError or ValueError if they are not at hand.
    """
    place = {**source(config.path), "local_files_only": True, "trust_remote_code": False}
    load_tokenizer(config, local=True)
    return shape_of(AutoConfig.from_pretrained(**place), lora_config(config))


def shape_of(config: Any, lora: Any = None) -> Shape:
    """The shape of a model by transformers' configuration of it, and peft's of an adapter."""
    with torch.device("meta"), warnings.catch_warnings():
        # peft asks for it by the name that transformers is giving up.
        warnings.filterwarnings("ignore", ".*gradient_checkpointing", FutureWarning)
        model = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
        if lora is not None:
            from peft import get_peft_model

            model = get_peft_model(model, lora)
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return Shape(
        parameters=sum(p.numel() for p in model.parameters()),
        trainable=sum(p.numel() for p in model.parameters() if p.requires_grad),
        layers=config.num_hidden_layers,
        hidden=config.hidden_size,
        kv_width=2 * getattr(config, "num_key_value_heads", config.num_attention_heads) * head,
        inner=getattr(config, "intermediate_size", None) or 4 * config.hidden_size,
        vocabulary=config.vocab_size,
        embedded=config.vocab_size * config.hidden_size * (1 if config.tie_word_embeddings else 2),
        context=config.max_position_embeddings,
    )


def row_length(shape: Shape, completion: int, prompt: int | None) -> int:
    """Tokens of a row: a completion in full length after the longest prompt, if unknown half as long."""
    return min(completion + (completion // 2 if prompt is None else prompt), shape.context)


def footprint(
    shape: Shape,
    arguments: Mapping[str, Any],
    *,
    dtype: str,
    launch: Launch = ONE,
    device: float = 0,
    prompt: int | None = None,
) -> Footprint:
    """The memory of a training with these DPHConfig arguments on each device (of so many bytes, for vLLM).

    Weights that train are float32, as are their gradients and Adam's two moments; sharded (FSDP, ZeRO 3) all
    are spread over the devices, but embedding and head are gathered on each for the whole step; else autocast
    keeps a copy of the weights to compute with beside them. vLLM's engine beside the trainer takes its share
    while it generates. A layer keeps `Shape.layer` bytes a token, as measured on a Llama, attention matrices
    left aside; with checkpointing only its float32 input, and one layer at a time in full. Rehearsal rows are
    beside the exploration's in the same step unless `two_backward`. Every row is as long as the longest
    `prompt` and a completion in full length: an upper bound for activations, logits and cache; fragmentation
    and the framework's own memory are not counted. TRL's head holds the logits of one slice at a time, and
    float32 gradients of what goes into it.
    """
    width, spread = BYTES[dtype], launch.world_size if launch.sharded else 1
    copies = 0 if launch.sharded or width == MASTER else width
    frozen = shape.parameters - shape.trainable
    given = {**SETTINGS, **arguments}
    compared = given["online"] != "none" or given["rehearsal_form"] == DEFINITION
    compared = compared or bool(given["collapse_every"] or given["beta"])
    reference = compared and shape.trainable == shape.parameters
    completion = min(int(given["max_completion_length"]), shape.context)
    cut = Steps.of_arguments(arguments, launch.world_size)
    rows = cut.rows(apart=given["two_backward"])
    mine = -(-cut.rollouts_per_generation // launch.world_size)
    generated = min(mine, given["generation_rows"] or mine)
    length = row_length(shape, completion, prompt)
    tokens = rows * length
    layer = tokens * shape.layer(width)
    # TRL checkpoints unless told otherwise, under either of the setting's two names.
    recomputed = arguments.get("activation_checkpointing", given["gradient_checkpointing"])
    checkpoints = shape.layers * tokens * shape.hidden * MASTER + layer
    return Footprint(
        weights=(shape.trainable * (MASTER + copies) + frozen * width) // spread
        + (shape.embedded * width if launch.sharded else 0),
        gradients=shape.trainable * MASTER // spread,
        optimizer=2 * shape.trainable * MASTER // spread,
        reference=shape.parameters * MASTER // spread if reference else 0,
        activations=checkpoints if recomputed else shape.layers * layer,
        logits=_slice(shape, rows * completion, width)
        + 4 * shape.hidden * (rows * completion + (shape.vocabulary if frozen == 0 else 0)),
        cache=int(given["vllm_gpu_memory_utilization"] * device * (given["vllm_mode"] == "colocate"))
        if given["use_vllm"]
        else generated * length * shape.layers * shape.kv_width * width,
    )


def stage_footprint(
    shape: Shape, recipe: Recipe, *, models: int = 1, device: float = 0, prompt: int | None = None
) -> Footprint:
    """The memory of pre-sampling, or of an evaluation of two `models`, on a device of its own.

    Generation keeps keys and values of `sampling.batch_size` rows, each as long as the longest `prompt` and a
    completion in full length; log-probabilities take one layer's intermediate values of
    `sampling.batch_tokens` tokens and one slice of their logits. vLLM's engine takes its share, while the
    models wait outside of the device; they score one by one, while it sleeps.
    """
    if recipe.sampling.backend == "vllm":
        plain = replace(recipe, sampling=replace(recipe.sampling, backend="transformers"))
        own = stage_footprint(shape, plain, prompt=prompt)
        return replace(own, cache=max(0, int(recipe.sampling.vllm_memory * device) - own.weights))
    sampling, width = recipe.sampling, BYTES[recipe.model.dtype]
    length = row_length(shape, sampling.max_new_tokens, prompt)
    tokens = max(sampling.batch_tokens, length)
    return Footprint(
        weights=models * shape.parameters * width,
        gradients=0,
        optimizer=0,
        reference=0,
        activations=tokens * shape.layer(width),
        logits=_slice(shape, tokens, width),
        cache=sampling.batch_size * length * shape.layers * shape.kv_width * width,
    )


def _slice(shape: Shape, tokens: int, width: int) -> int:
    """Bytes of the logits that TRL's head holds at a time."""
    return min(tokens, HEAD_SLICE[0]) * min(shape.vocabulary, HEAD_SLICE[1]) * width
