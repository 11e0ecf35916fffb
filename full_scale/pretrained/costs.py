"""What a step of such a training costs: measured where it ran, computed for larger models."""

import resource
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from ..training.memory import Shape, footprint

if TYPE_CHECKING:
    from .training import FinishedOpenRun

SIZES: dict[str, dict[str, Any]] = {
    "SmolLM2-135M": {"layers": 30, "hidden": 576, "wide": 1536, "heads": 9, "keys": 3, "words": 49152},
    "SmolLM2-1.7B": {"layers": 24, "hidden": 2048, "wide": 8192, "heads": 32, "keys": 32, "words": 49152},
    "Llama-3.1-8B": {"layers": 32, "hidden": 4096, "wide": 14336, "heads": 32, "keys": 8, "words": 128256},
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


def costs(outcomes: Sequence["FinishedOpenRun"]) -> list[dict[str, Any]]:
    """A row a size, the first one's measured on the runs of methods."""
    ran = [outcome for outcome in outcomes if outcome.run.seed is not None]
    rows = [asdict(_computed(name, **size)) for name, size in SIZES.items()]
    if ran:
        rows[0] |= {"seconds": median(outcome.seconds_a_step for outcome in ran)}
        rows[0] |= {"peak_gib": max(outcome.peak_gib for outcome in ran) or None}
    return rows


def _computed(name: str, *, layers: int, hidden: int, wide: int, heads: int, keys: int, words: int) -> Cost:
    config = LlamaConfig(
        num_hidden_layers=layers,
        hidden_size=hidden,
        intermediate_size=wide,
        num_attention_heads=heads,
        num_key_value_heads=keys,
        vocab_size=words,
        tie_word_embeddings=name.startswith("SmolLM2"),
    )
    with torch.device("meta"):
        count = sum(parameter.numel() for parameter in LlamaForCausalLM(config).parameters())
    shape = Shape(count, count, layers, hidden, 2 * keys * (hidden // heads), words, 8192)
    arguments = {"per_device_train_batch_size": 1, "max_completion_length": TOKENS}
    arguments |= {"gradient_checkpointing": False}
    needs = footprint(shape, arguments, dtype="float32", prompt=0)
    return Cost(
        name, count, (needs.total - max(needs.cache - needs.step, 0)) / 2**30, 6 * count * TOKENS / 1e12
    )
