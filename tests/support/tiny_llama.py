"""A two-layer Llama with a word-level tokenizer, and what training one in a test needs."""

from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from full_scale.tasks.llama import word_level

WORDS = [f"p{i}" for i in range(8)] + [f"w{i}" for i in range(16)]
SPECIAL = ["<pad>", "<eos>", "<unk>"]
ON_A_CPU = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "num_generations": 4}
ON_A_CPU |= {"use_cpu": True, "gradient_checkpointing": False, "dataloader_pin_memory": False}
"""Trainers' settings: two groups of four answers a step."""


def tiny_tokenizer(words=WORDS):
    """Splits at white space; ids are the places in the list, after the special tokens."""
    return word_level([*SPECIAL, *words], "<unk>", pad_token="<pad>", eos_token="<eos>")


def tiny_llama(folder: Path, *, seed=0, hidden=32, layers=2, scale=3.0, words=WORDS) -> Path:
    """A model and its tokenizer, saved as a Hugging Face folder; `scale` makes its answers uneven."""
    torch.manual_seed(seed)
    tokenizer = tiny_tokenizer(words)
    size = {"hidden_size": hidden, "intermediate_size": 2 * hidden, "num_hidden_layers": layers}
    size |= {"num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 64}
    ends = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("pad", "eos")}
    ends |= {"bos_token_id": None, "tie_word_embeddings": False}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **size, **ends))
    with torch.no_grad():
        model.lm_head.weight.mul_(scale)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def eight_billion(folder: Path) -> Path:
    """The configuration of Llama 3.1 8B with a tokenizer, and no weights."""
    tiny = tiny_llama(folder)
    (tiny / "model.safetensors").unlink()
    size = {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32}
    size |= {"num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 131_072}
    LlamaConfig(vocab_size=128_256, **size).save_pretrained(folder)
    return folder


def plain_log_probs(model, prompt_ids, completion_ids, temperature=1.0):
    """Token log-probabilities of one completion, by log_softmax of the model's logits: no TRL, no padding."""
    ids = torch.tensor([[*prompt_ids, *completion_ids]])
    logits = model(input_ids=ids).logits[0, len(prompt_ids) - 1 : -1]
    return (logits / temperature).log_softmax(dim=-1)[range(len(completion_ids)), completion_ids]
