"""What a step of such a training costs: measured where it ran, computed for larger models."""

import resource
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from ...training.memory import Shape, footprint

_SIZES = {
    # Layers, width, the feed-forward's, heads, those of keys, vocabulary, one matrix for words in and out.
    "SmolLM2-135M": (30, 576, 1536, 9, 3, 49152, True),
    "SmolLM2-1.7B": (24, 2048, 8192, 32, 32, 49152, True),
    "Llama-3.1-8B": (32, 4096, 14336, 32, 8, 128256, False),
}
TOKENS = 160
"""Tokens of a step of the methods' mixture, packed; the losses need no second model."""


def peak() -> float:
    """The most memory that this process has held, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


@dataclass(frozen=True)
class Cost:
    """Of a step in float32, weights, gradients, Adam's moments and activations: GiB, and its arithmetic."""

    model: str
    parameters: int
    gib: float
    teraflops: float
    seconds: float | None = None
    """Measured, on one thread of the machine at hand; a median over runs."""
    peak_gib: float | None = None
    """Measured, of the whole process."""


def costs(measured: Sequence[tuple[float, float]]) -> list[dict[str, Any]]:
    """A row a size; the first one's holds what runs of methods took: seconds a step and GiB, of each run."""
    rows = [asdict(_computed(name, *size)) for name, size in _SIZES.items()]
    if measured:
        seconds, peaks = zip(*measured, strict=True)
        rows[0] |= {"seconds": median(seconds), "peak_gib": max(peaks) or None}
    return rows


def _computed(
    name: str, layers: int, hidden: int, wide: int, heads: int, keys: int, words: int, tied: bool
) -> Cost:
    config = LlamaConfig(
        vocab_size=words,
        hidden_size=hidden,
        intermediate_size=wide,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=keys,
        tie_word_embeddings=tied,
    )
    with torch.device("meta"):
        count = sum(parameter.numel() for parameter in LlamaForCausalLM(config).parameters())
    shape = Shape(count, count, layers, hidden, 2 * keys * (hidden // heads), words, 8192)
    arguments = {"per_device_train_batch_size": 1, "max_completion_length": TOKENS}
    needs = footprint(shape, arguments | {"gradient_checkpointing": False}, dtype="float32", prompt=0)
    held = needs.weights + needs.optimizer + needs.step
    return Cost(name, count, held / 2**30, 6 * count * TOKENS / 1e12)
