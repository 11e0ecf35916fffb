"""Small Llamas with random weights, for the built-in tasks."""

from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM


def random_llama(
    seed: int, *, vocabulary: int, hidden: int, layers: int, heads: int, end: int, **settings: Any
) -> LlamaForCausalLM:
    """A Llama of these sizes without a symbol for the beginning; `settings` are LlamaConfig's others.

    The caller's random state is left as it was.
    """
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        bos_token_id=None,
        eos_token_id=end,
        **settings,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return LlamaForCausalLM(config)
