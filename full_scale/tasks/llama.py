"""Small Llamas with random weights, and tokenisers with one token per word, for the built-in tasks."""

from collections.abc import Sequence
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast


def random_llama(
    seed: int, *, vocabulary: int, hidden: int, layers: int, heads: int, end: int, **settings: Any
) -> LlamaForCausalLM:
    """A Llama of these sizes without a start symbol; `settings` are further LlamaConfig arguments.

    The caller's random state is unchanged.
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


def word_level(words: Sequence[str], unknown: str, **settings: Any) -> PreTrainedTokenizerFast:
    """Tokeniser that splits at white space; ids index `words`, and other words are the unknown one.

    It pads on the left; `settings` are further arguments of PreTrainedTokenizerFast.
    """
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(words)}, unk_token=unknown))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token=unknown, padding_side="left", **settings
    )
