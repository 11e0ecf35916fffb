"""The memory that a training needs on each device, from the model's configuration alone.

Logits, attention matrices, the generation's cache and fragmentation are left out; `USABLE` leaves them room.
"""

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from ..models.load import load_tokenizer, lora_config, source
from ..recipe.rehearsal import DEFINITION
from ..recipe.schema import ModelConfig
from .launch import Launch

USABLE = 0.9
"""Share of a device's memory that the estimate may fill."""


class Shape(NamedTuple):
    """The sizes of a model that decide how much memory its training needs; `inner` is the MLP's width."""

    parameters: int
    trainable: int
    layers: int
    hidden: int
    inner: int
    context: int

    def activations(self, tokens: int, width: int, checkpointing: bool) -> int:
        """Bytes that a Llama's layers keep for the backward pass, within 15% (measured on small Llamas).

        With checkpointing each layer keeps its float32 input, and one layer at a time all its activations.
        """
        layer = tokens * (32 * self.hidden + 4 * width * self.inner)
        return self.layers * tokens * self.hidden * 4 + layer if checkpointing else self.layers * layer


def model_shape(config: ModelConfig) -> Shape:
    """A model's shape; OSError or ValueError if its configuration or tokenizer is not on this machine."""
    load_tokenizer(config, local=True)
    place = {**source(config.path), "local_files_only": True, "trust_remote_code": False}
    sizes, lora = AutoConfig.from_pretrained(**place), lora_config(config)
    with torch.device("meta"), warnings.catch_warnings():
        # peft reads `gradient_checkpointing`, a name that transformers deprecates.
        warnings.filterwarnings("ignore", ".*gradient_checkpointing", FutureWarning)
        model: Any = AutoModelForCausalLM.from_config(sizes, trust_remote_code=False)
        if lora is not None:
            from peft import get_peft_model

            model = get_peft_model(model, lora)
    weights, inner = [*model.parameters()], getattr(sizes, "intermediate_size", None)
    return Shape(
        parameters=sum(p.numel() for p in weights),
        trainable=sum(p.numel() for p in weights if p.requires_grad),
        layers=sizes.num_hidden_layers,
        hidden=sizes.hidden_size,
        inner=inner or 4 * sizes.hidden_size,
        context=sizes.max_position_embeddings,
    )


def training_memory(
    shape: Shape, given: Mapping[str, Any], *, dtype: str, launch: Launch, rows: int, prompt: int | None
) -> dict[str, int]:
    """Bytes on each device by part and in total, for trainer's arguments `given` and `rows` at a time.

    Trained weights are float32, with a copy in `dtype` unless sharded (FSDP, ZeRO 3), and so is a reference
    model. A prompt of unknown length is taken as half a completion long.
    """
    width, spread = (4 if dtype == "float32" else 2), launch.world_size if launch.sharded else 1
    copy = 0 if launch.sharded or width == 4 else width
    compares = given["online"] != "none" or given["rehearsal_form"] == DEFINITION
    compares = compares or bool(given["collapse_every"] or given["beta"])
    reference = shape.parameters * 4 if compares and shape.trainable == shape.parameters else 0
    weights = shape.trainable * (4 + copy) + (shape.parameters - shape.trainable) * width + reference
    completion = int(given["max_completion_length"])
    length = min(completion + (completion // 2 if prompt is None else prompt), shape.context)
    parts = {"weights": weights // spread, "gradients": shape.trainable * 4 // spread}
    parts["optimizer"] = 2 * parts["gradients"]
    parts["activations"] = shape.activations(rows * length, width, given["gradient_checkpointing"])
    return parts | {"total": sum(parts.values())}
