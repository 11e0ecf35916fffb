"""What measuring a kernel costs, in steps of a training on the same prompts; and a forecast, in steps too.

Processor seconds on the pretrained Llama, medians over rounds taken by turns: the kernel of some prompts (the
gradients of the correct answer and of eight wrong ones each), one step of GRPO on groups of 16 answers to
these prompts, and the training of the linearised model by twenty such steps, eight seeds side by side. Stored
with the machine in benchmarks/results/transfer.json; quote ratios.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from stored import store

from dph_theory.transfer import AnswerKernel, Method, linearised_training
from full_scale.models.load import LoadedModel, ModelHashes, located
from full_scale.pretrained.losses import NAMED, sampled_loss
from full_scale.pretrained.training import lab, prompts_of, whole_answers
from full_scale.pretrained.transfer import listed_prompts
from full_scale.recipe.schema import ModelConfig
from full_scale.transfer.measure import measure_listed

TASK, STEPS, SEEDS, GROUP = "last digits", 20, 8, 16


def measure(rounds: int) -> dict[str, float]:
    """Seconds of each by name, and the kernel and the forecast in steps."""
    path = located("smollm2")
    at = lab(path)
    at.reset()
    reading = at.reading((TASK,))
    prompts = prompts_of(reading, at.base(reading), torch.Generator().manual_seed(0))
    loaded, config = LoadedModel(at.model, at.tokenizer, ModelHashes.of(path)), ModelConfig(path=path)
    listed = listed_prompts(at.tokenizer, (TASK,))
    kernels: list[AnswerKernel] = []

    def step() -> None:
        together = whole_answers(reading.log_probs(at.model)[TASK], reading.word_ids(TASK))
        how = {"size": GROUP, "generator": torch.Generator().manual_seed(0)}
        sampled_loss(together, prompts, NAMED["GRPO"], 0.0, **how).backward()
        at.model.zero_grad()

    def kernel() -> None:
        with TemporaryDirectory() as folder:
            kernels.append(measure_listed(loaded, config, listed, Path(folder, "k.npz"), trained=(TASK,)))

    def forecast() -> None:
        some, step_size = kernels[-1].of(TASK), 1e-5 * kernels[-1].about["adam"]
        linearised_training(kernels[-1], Method("std", GROUP), some, steps=STEPS, step=step_size, seeds=SEEDS)

    cases: dict[str, Callable[[], None]] = {"step": step, "kernel": kernel, "forecast": forecast}
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            start = time.process_time()
            case()
            taken[name].append(time.process_time() - start)
    found = {name: float(np.median(times)) for name, times in taken.items()}
    ratios = {f"{name} in steps": found[name] / found["step"] for name in ("kernel", "forecast")}
    return found | ratios | {"prompts": float(len(listed))}


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each case")
    found = measure(parser.parse_args().rounds)
    table = Table("what", "seconds, or steps")
    for name, number in found.items():
        table.add_row(name, f"{number:.2f}")
    Console(width=100).print(table)
    store("transfer", "torch", "transformers", group=GROUP, seconds=found)


if __name__ == "__main__":
    main()
