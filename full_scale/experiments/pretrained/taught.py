"""A small Llama that reads characters, taught here to answer some open prompts at random."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from transformers import PreTrainedTokenizerFast

from ...tasks.llama import random_llama
from .open_prompts import DIGITS, open_prompts
from .reading import Reading
from .runs import with_held_out

_STEPS, _RATE, _SEED = 400, 1e-3, 0


def teach(folder: Path, tasks: Sequence[str]) -> None:
    """Save a small Llama (4 layers, width 128) taught the form of one-digit answers, right or wrong.

    The target of each prompt, of both halves of the tasks, is drawn at random among all distributions of
    digits.
    """
    prompts = [open_prompts(name) for name in with_held_out(tasks)]
    characters = sorted({character for task in prompts for character in "".join((*task.texts, *DIGITS))})
    plain = Tokenizer(WordLevel({"?": 0} | {c: i for i, c in enumerate(characters, 1)}, unk_token="?"))
    plain.pre_tokenizer = Split(Regex("[\\s\\S]"), "isolated")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, unk_token="?", eos_token="?")
    model = random_llama(
        _SEED, vocabulary=len(characters) + 1, hidden=128, layers=4, heads=4, end=0, intermediate_size=512
    )
    reading = Reading(tokenizer, prompts)
    generator = np.random.default_rng(_SEED)
    lots = [generator.dirichlet(np.ones(len(DIGITS)), len(task.texts)) for task in prompts]
    targets = [torch.from_numpy(shares).float() for shares in lots]
    optimiser = torch.optim.AdamW(model.parameters(), _RATE, weight_decay=0.0)
    for _ in range(_STEPS):
        log_probs = reading.log_probs(model)
        tables = zip(log_probs.items(), targets, strict=True)
        loss = torch.stack(
            [
                -(target * table[:, reading.word_ids(name)]).sum(dim=1).mean()
                for (name, (table,)), target in tables
            ]
        ).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
