"""What measuring a kernel costs, in steps of a training on the same prompts; and a forecast, in steps too.

Processor seconds on the pretrained Llama, medians over rounds taken by turns: the kernel of some prompts (the
gradients of the correct answer and of eight wrong ones each), the same gradients of one prompt from the
activations and written out one by one, one step of GRPO on groups of 16 answers to these prompts, and the
training of the linearised model by twenty such steps, eight seeds side by side. Stored with the machine in
benchmarks/results/transfer.json; quote ratios.
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

from dph_theory.transfer import AnswerKernel, LinearisedMethod, linearised_training
from full_scale.experiments.pretrained.losses import METHODS_BY_NAME, sampled_loss
from full_scale.experiments.pretrained.training import pretrained_llama, prompts_of, whole_answers
from full_scale.experiments.pretrained.transfer import listed_prompts
from full_scale.models.load import LoadedModel, ModelHashes, located
from full_scale.recipe.schema import ModelConfig
from full_scale.transfer.answers import listed_atoms, log_probs
from full_scale.transfer.gradients import Gradients
from full_scale.transfer.measure import WRONG, measure_listed
from full_scale.transfer.sketch import Sketch

TASK, STEPS, SEEDS, GROUP = "last digits", 20, 8, 16


def cases() -> dict[str, Callable[[], None]]:
    """What is timed, by name."""
    path = located("smollm2")
    llama = pretrained_llama(path)
    reading = llama.reading((TASK,))
    prompts = prompts_of(reading, llama.base(reading), torch.Generator().manual_seed(0))
    loaded = LoadedModel(llama.model, llama.tokenizer, ModelHashes.of_model(path))
    config = ModelConfig(path=path)
    listed = listed_prompts(llama.tokenizer, (TASK,))
    kernels: list[AnswerKernel] = []

    def step() -> None:
        together = whole_answers(reading.log_probs(llama.model)[TASK], reading.word_ids(TASK))
        options = {"size": GROUP, "generator": torch.Generator().manual_seed(0)}
        sampled_loss(together, prompts, METHODS_BY_NAME["GRPO"], 0.0, **options).backward()
        llama.model.zero_grad()

    def kernel() -> None:
        with TemporaryDirectory() as folder:
            kernels.append(measure_listed(loaded, config, listed, Path(folder, "k.npz"), trained=(TASK,)))

    def forecast() -> None:
        kernel, method = kernels[-1], LinearisedMethod("std", GROUP)
        prompts, step_size = kernel.prompts_in(TASK), 1e-5 * kernel.about["adam"]
        linearised_training(kernel, method, prompts, steps=STEPS, step=step_size, seeds=SEEDS)

    first = listed[0]
    answers = [answer for atom in listed_atoms(llama.model, first, WRONG) for answer in atom.answers]
    gradients = Gradients(llama.model, Sketch())

    def from_activations() -> None:
        with gradients.watching():
            for scores in log_probs(llama.model, first.prompt, answers):
                gradients(scores)

    def one_by_one() -> None:
        sketch, weights = Sketch(), [*llama.model.parameters()]
        for scores in log_probs(llama.model, first.prompt, answers):
            for score in scores:
                sketch(torch.autograd.grad(score, weights, retain_graph=True))

    from_activations()  # The first call sets how much of each matrix is kept.
    return {
        "step": step,
        "kernel": kernel,
        "forecast": forecast,
        "a prompt": from_activations,
        "a prompt, one by one": one_by_one,
    }


def measure(rounds: int) -> dict[str, float]:
    """Seconds of each by name, and all in steps."""
    timed = cases()
    taken: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(rounds):
        for name, case in timed.items():
            start = time.process_time()
            case()
            taken[name].append(time.process_time() - start)
    seconds = {name: float(np.median(times)) for name, times in taken.items()}
    ratios = {f"{name} in steps": seconds[name] / seconds["step"] for name in timed if name != "step"}
    ratios["one by one in ours"] = seconds["a prompt, one by one"] / seconds["a prompt"]
    return seconds | ratios


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each case")
    measured = measure(parser.parse_args().rounds)
    table = Table("what", "seconds, or steps")
    for name, number in measured.items():
        table.add_row(name, f"{number:.2f}")
    Console(width=100).print(table)
    store("transfer", "torch", "transformers", group=GROUP, seconds=measured)


if __name__ == "__main__":
    main()
