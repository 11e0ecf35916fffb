"""What a step of such a training costs: measured where it ran, computed for larger models."""

import resource
from collections.abc import Sequence
from statistics import median
from typing import Any

from transformers import LlamaConfig

from ...training.memory import footprint, shape_of

_SIZES = {
    # Layers, width, the feed-forward's, heads, those of keys, vocabulary, one matrix for words in and out.
    "SmolLM2-135M": (30, 576, 1536, 9, 3, 49152, True),
    "SmolLM2-1.7B": (24, 2048, 8192, 32, 32, 49152, True),
    "Llama-3.1-8B": (32, 4096, 14336, 32, 8, 128256, False),
}
_NAMES = ("num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads",
          "num_key_value_heads", "vocab_size", "tie_word_embeddings")  # fmt: skip
ANSWER_TOKENS = 160
"""Tokens of a step of the methods' mixture, packed; the losses need no second model."""


def peak() -> float:
    """The most memory that this process has held, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def costs(measured: Sequence[tuple[float, float]]) -> list[dict[str, Any]]:
    """A row a size: parameters; GiB of a step in float32, activations included; its teraflops.

    The first also has what runs took: median seconds a step on one thread here, and the process' most GiB.
    """
    rows = [_computed(name, *size) for name, size in _SIZES.items()]
    if measured:
        seconds, peaks = zip(*measured, strict=True)
        rows[0] |= {"seconds": median(seconds), "peak_gib": max(peaks) or None}
    return rows


def _computed(model: str, *size: int | bool) -> dict[str, Any]:
    shape = shape_of(LlamaConfig(**dict(zip(_NAMES, size, strict=True)), max_position_embeddings=8192))
    arguments = {"per_device_train_batch_size": 1, "max_completion_length": ANSWER_TOKENS}
    needs = footprint(shape, arguments | {"gradient_checkpointing": False}, dtype="float32", prompt=0)
    gib = (needs.weights + needs.optimizer + needs.step) / 2**30
    teraflops = 6 * shape.parameters * ANSWER_TOKENS / 1e12
    return {"model": model, "parameters": shape.parameters, "gib": gib, "teraflops": teraflops,
            "seconds": None, "peak_gib": None}  # fmt: skip
