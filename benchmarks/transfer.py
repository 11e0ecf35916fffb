"""What a forecast costs by the number of prompts, and the kernel of 500 prompts of a tiny Llama.

Each case in a process of its own: processor and wall seconds, and the largest memory. Forecasts are ten steps
of GRPO and all settings beside it, from gradients drawn at random, ten answers a prompt, as many numbers of
each as `dph transfer` stores; kernels of up to 600 prompts also with as many numbers as there are answers,
which has the same inner products. Stored in benchmarks/results/transfer.json; quote ratios to 500 prompts.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from stored import store

PROMPTS, ANSWERS, STEPS, MEASURED = (500, 2000, 10_000), 10, 10, 500


def forecast(prompts: int) -> None:
    """A forecast from as many prompts, four of five trained."""
    from dph_theory.predict import shared_model
    from dph_theory.transfer import AnswerKernel, LinearisedMethod

    rng = np.random.default_rng(0)
    numbers = min(prompts * ANSWERS, 2**13)
    logits = 1.5 * rng.standard_normal((prompts, ANSWERS))
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    correct = rng.random((prompts, ANSWERS)) < 0.3
    correct[:, 0], correct[:, -1] = True, False
    gradients = rng.standard_normal((prompts * ANSWERS, numbers), dtype=np.float32)
    gradients /= np.float32(numbers**0.5)
    sets = tuple("train" if i < 0.8 * prompts else "held out" for i in range(prompts))
    rows = np.repeat(np.arange(prompts), ANSWERS), log_p.ravel(), correct.ravel()
    kernel = AnswerKernel(tuple(map(str, range(prompts))), sets, *rows, gradients, {"adam": 1000.0})
    method = LinearisedMethod("std", 16)
    report(
        {"numbers": numbers}, lambda: shared_model.forecast(kernel, method, steps=STEPS, learning_rate=1e-4)
    )


def measure(prompts: int) -> None:
    """The kernel of as many prompts of one word, their correct answers another, of a tiny Llama."""
    from full_scale.models.load import LoadedModel, ModelHashes
    from full_scale.recipe.schema import ModelConfig
    from full_scale.tasks.llama import random_llama
    from full_scale.transfer.answers import Listed
    from full_scale.transfer.measure import measure_listed

    llama = random_llama(
        0, vocabulary=prompts + 2, hidden=64, layers=2, heads=4, end=0, intermediate_size=128
    )
    listed = [Listed(str(i), "train", (i + 1, 1 + i // 2), ((1 + i * i % prompts,),)) for i in range(prompts)]
    with TemporaryDirectory() as folder:
        loaded = LoadedModel(llama, None, ModelHashes("", ""))
        path = Path(folder, "kernel.npz")
        report({}, lambda: measure_listed(loaded, ModelConfig(), listed, path))


def report(numbers: dict[str, Any], work: Callable[[], object]) -> None:
    """Print what the work took."""
    start, begun = time.process_time(), time.perf_counter()
    work()
    numbers |= {"processor": time.process_time() - start, "wall": time.perf_counter() - begun}
    print(json.dumps(numbers | {"gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}))


def main() -> None:
    """Measure and store."""
    rows = []
    for case, prompts in (*(("forecast", prompts) for prompts in PROMPTS), ("measure", MEASURED)):
        done = subprocess.run([sys.executable, __file__, case, str(prompts)], capture_output=True, check=True)
        row = {"case": case, "prompts": prompts, **json.loads(done.stdout.splitlines()[-1])}
        first = next((other for other in rows if other["case"] == case), row)
        row["ratios"] = {name: row[name] / first[name] for name in ("processor", "wall", "gigabytes")}
        rows.append(row)
        print(row, flush=True)
    store("transfer", "numpy", "torch", answers=ANSWERS, steps=STEPS, rows=rows)


if __name__ == "__main__":
    {"forecast": forecast, "measure": measure}[sys.argv[1]](int(sys.argv[2])) if sys.argv[1:] else main()
