"""Enumerable tasks of a few tokens, and Llamas of their size that nothing was fitted to."""

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from full_scale.experiments.enumerable_tasks.tasks import EnumerableTask


def uniform_task(texts: int = 2, words: int = 2, length: int = 2) -> EnumerableTask:
    """Every token alike; an answer is valid if it begins with the first word."""
    shape = words + 1
    base = tuple(np.full((texts, *[shape] * (t + 1)), 1 / shape) for t in range(length))
    valid = np.zeros((texts, *[shape] * length), dtype=bool)
    valid[:, 0] = True
    return EnumerableTask("uniform", tuple("abcdefgh"[:words]), base, valid, tuple(range(texts)))


def random_llama(task: EnumerableTask, seed: int = 0) -> LlamaForCausalLM:
    """A Llama of the task's vocabulary with random weights, large enough not to be uniform."""
    torch.manual_seed(seed)
    size = {"vocab_size": task.vocabulary, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
    size |= {"num_attention_heads": 2, "max_position_embeddings": 16, "initializer_range": 0.4}
    config = LlamaConfig(**size, pad_token_id=None, bos_token_id=None, eos_token_id=task.end)
    return LlamaForCausalLM(config).eval()
