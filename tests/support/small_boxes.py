"""Glass boxes of a few tokens, and Llamas of their size that nothing was fitted to."""

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from full_scale.experiments.enumerable_tasks.box import GlassBox


def uniform_box(texts: int = 2, words: int = 2, length: int = 2) -> GlassBox:
    """Every token alike; an answer is valid if it begins with the first word."""
    shape = words + 1
    base = tuple(np.full((texts, *[shape] * (t + 1)), 1 / shape) for t in range(length))
    valid = np.zeros((texts, *[shape] * length), dtype=bool)
    valid[:, 0] = True
    return GlassBox("uniform", tuple("abcdefgh"[:words]), base, valid, tuple(range(texts)))


def random_llama(box: GlassBox, seed: int = 0) -> LlamaForCausalLM:
    """A Llama of the box's vocabulary with random weights, large enough not to be uniform."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=box.vocabulary,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=16,
        initializer_range=0.4,
        pad_token_id=None,
        bos_token_id=None,
        eos_token_id=box.end,
    )
    return LlamaForCausalLM(config).eval()
