"""Speed of n answers to one prompt, read once, against n prompts of the same length, each read by itself.

Processor seconds of `full_scale.models.generation.sample`, medians over rounds, at several lengths of the
prompt; stored with the machine in benchmarks/results/prefill.json. Measurements of one machine on one day:
quote ratios.
"""

import argparse
import time

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from stored import store

from full_scale.models.generation import sample
from full_scale.recipe.schema import SamplingConfig
from full_scale.tasks.llama import random_llama, word_level

LENGTHS, ANSWERS, NEW = (64, 256, 1024), 8, 32
VOCABULARY = 512


def measure(rounds: int) -> dict[str, dict[str, float]]:
    """Seconds by the length of the prompt, and how many times faster one prompt is than as many."""
    words = ["<eos>", "<unk>", *(f"w{i}" for i in range(VOCABULARY - 2))]
    tokenizer = word_level(words, "<unk>", pad_token="<eos>", eos_token="<eos>")
    model = random_llama(0, vocabulary=VOCABULARY, hidden=128, layers=4, heads=4, end=0).eval()
    settings = SamplingConfig(max_new_tokens=NEW, batch_size=ANSWERS)
    rng, found = np.random.default_rng(0), {}
    for length in LENGTHS:
        prompts = rng.integers(2, VOCABULARY, (ANSWERS, length)).tolist()
        cases = {"one prompt": (prompts[:1], ANSWERS), "different prompts": (prompts, 1)}
        taken: dict[str, list[float]] = {name: [] for name in cases}
        for _ in range(rounds):
            for name, (asked, n) in cases.items():
                start = time.process_time()
                sample(model, tokenizer, asked, n, settings, 0)
                taken[name].append(time.process_time() - start)
        seconds = {name: float(np.median(times)) for name, times in taken.items()}
        found[str(length)] = {**seconds, "ratio": seconds["different prompts"] / seconds["one prompt"]}
    return found


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each case")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = measure(options.rounds)
    table = Table("prompt tokens", "one prompt, s", "different prompts, s", "times faster")
    for length, numbers in found.items():
        table.add_row(length, *(f"{number:.2f}" for number in numbers.values()))
    Console(width=100).print(table)
    store("prefill", "torch", "transformers", answers=ANSWERS, new_tokens=NEW, seconds=found)


if __name__ == "__main__":
    main()
