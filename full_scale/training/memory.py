"""Estimate of a training's memory on each device, from the model's configuration alone.

Logits, attention matrices, the generation's cache and fragmentation are not included; `USABLE` reserves room
for them.
"""

import warnings
from typing import Any, NamedTuple

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from ..models.load import load_tokenizer, lora_config, source
from ..recipe.schema import ModelConfig
from .launch import Launch

USABLE = 0.9  # The share of a device's memory that the estimate may fill.


class Shape(NamedTuple):
    """Sizes of a model that determine the memory of its training; `inner` is the MLP's width."""

    parameters: int
    trainable: int
    layers: int
    hidden: int
    inner: int
    context: int

    def activations(self, tokens: int, width: int, checkpointing: bool) -> int:
        """Bytes of a Llama's layers for the backward pass, within 15% (measured on small Llamas)."""
        layer = tokens * (32 * self.hidden + 4 * width * self.inner)
        # With checkpointing each layer keeps its float32 input, and one layer at a time all its activations.
        return self.layers * tokens * self.hidden * 4 + layer if checkpointing else self.layers * layer


def model_shape(config: ModelConfig) -> Shape:
    """Shape of a model; OSError or ValueError if its configuration or tokeniser is not on this machine."""
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
    total, trained = (sum(p.numel() for p in model.parameters() if p.requires_grad >= x) for x in (0, 1))
    inner = getattr(sizes, "intermediate_size", None) or 4 * sizes.hidden_size
    return Shape(
        total, trained, sizes.num_hidden_layers, sizes.hidden_size, inner, sizes.max_position_embeddings
    )


def training_memory(
    shape: Shape, *, width: int, launch: Launch, compares: bool, tokens: int, checkpointing: bool
) -> dict[str, int]:
    """Bytes on each device by part and in total, for a model of `width` bytes and `tokens` at a time."""
    # Trained weights are float32, with a copy in the model's type unless sharded; so is a reference model.
    spread, copy = (launch.world_size, 0) if launch.sharded else (1, width % 4)
    reference = shape.parameters * 4 if compares and shape.trainable == shape.parameters else 0
    weights = shape.trainable * (4 + copy) + (shape.parameters - shape.trainable) * width + reference
    parts = {"weights": weights // spread, "gradients": shape.trainable * 4 // spread}
    parts["optimizer"] = 2 * parts["gradients"]
    parts["activations"] = shape.activations(tokens, width, checkpointing)
    return parts | {"total": sum(parts.values())}
