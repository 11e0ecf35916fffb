"""What takes a GPU some minutes and a CPU many hours: more prompts, more seeds, and a trainer's steps.

In this order, each stored as it comes, so that a run that is cut off is of use: the kernel of some hundreds
of prompts and whether the sign of new prompts' first change of Pass@k is established; runs without a KL, with
one on all prompts and with few anchors, seeds outermost; and, on a GPU, `training.py --device cuda`. Exact
Pass@k, float32 without TF32. Results, with config, device and versions, go to benchmarks/results/gpu.json or
to --to; with --quick a few prompts, steps and one seed. It runs where it finds a GPU, else on the CPU.

    python benchmarks/gpu.py [--minutes 10] [--prompts 500] [--seeds 10] [--quick]
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from stored import store

from dph_theory.support.settings_text import settings_text
from full_scale.experiments.pretrained.conduct import conduct
from full_scale.experiments.pretrained.kernels import anchors_of, initial_slopes, kernel_of, listed_prompts
from full_scale.experiments.pretrained.runs import EXPLORED, HELD_OUT, PICKED, OpenRun, pass_at
from full_scale.experiments.pretrained.training import pretrained_llama
from full_scale.models.load import LoadedModel, ModelHashes, located
from full_scale.recipe.schema import ModelConfig
from full_scale.transfer.measure import measure_listed

KS = (1, 16, 256)
EVERY = "all last digits"


def slopes(path: str, prompts: int, folder: Path) -> dict[str, Any]:
    """The kernel of so many prompts: its cost, and the slopes of Pass@k at the base."""
    llama = pretrained_llama(path)
    loaded = LoadedModel(llama.model, llama.tokenizer, ModelHashes.of_model(path))
    listed = listed_prompts(llama.tokenizer, (EVERY,))[: prompts // 2]
    listed += listed_prompts(llama.tokenizer, (EVERY + HELD_OUT,))[: prompts - prompts // 2]
    begun = time.monotonic()

    def progress(stage: str, done: int, total: int, note: str = "") -> None:
        print(f"\r{stage}: {done} of {total}", end="", flush=True)

    # The log odds of the correct answer need its gradient alone.
    options: dict[str, Any] = {"wrong": 0, "trained": (EVERY,), "progress": progress}
    kernel = measure_listed(loaded, ModelConfig(path=path), listed, folder / "every.npz", **options)
    cost = {"seconds": time.monotonic() - begun, "rates": kernel.log_odds.rates.tolist()}
    return {"prompts": len(listed), **cost, **initial_slopes(kernel)}


def planned(seeds: int, steps: int) -> Iterator[OpenRun]:
    """The methods at every seed: none, a KL on all, and one to eight anchors of each choice."""
    for seed in range(seeds):
        plain = OpenRun("anchors", (EXPLORED,), "GRPO", seed=seed, steps=steps)
        yield plain
        yield from (replace(plain, kl="k3", coefficient=beta) for beta in (0.1, 0.3, 1.0, 3.0))
        for count in (1, 4, 8):
            for picked in PICKED:
                anchored = replace(plain, anchors=count, picked=picked)
                yield from (replace(anchored, coefficient=beta) for beta in (0.3, 1.0, 3.0))


def conducted(path: str, run: OpenRun, folder: Path) -> dict[str, Any]:
    """A run's exact Pass@k on what is trained, and on held-out prompts that it does not hold."""
    kernel = kernel_of(path, run, folder)
    candidates = kernel.prompts_in(EXPLORED + HELD_OUT)
    anchors = tuple((anchors_of(run, kernel, candidates) - candidates[0]).tolist())
    begun = time.monotonic()
    end = conduct(path, run, anchors).course[-1].tasks
    return {
        "run": asdict(run),
        "seconds": time.monotonic() - begun,
        "anchors": anchors,
        "trained": [pass_at(end, [EXPLORED], k) for k in KS],
        "held out": [pass_at(end, [EXPLORED + HELD_OUT], k, without=anchors) for k in KS],
    }


def main() -> None:
    """Measure what there is time for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="smollm2", help="a folder, or a name (default: smollm2)")
    parser.add_argument("--minutes", type=float, default=10, help="no run begins after these")
    parser.add_argument("--prompts", type=int, default=500, help="of the kernel")
    parser.add_argument("--seeds", type=int, default=10, help="of each run")
    parser.add_argument("--quick", action="store_true", help="six prompts, two steps, one seed")
    parser.add_argument("--to", type=Path, help="where the numbers go")
    given = parser.parse_args()
    end, path = time.monotonic() + 60 * given.minutes, located(given.model)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    gpu = torch.cuda.is_available()
    device = torch.cuda.get_device_name(0) if gpu else "cpu"
    prompts, seeds, steps = (6, 1, 2) if given.quick else (given.prompts, given.seeds, 20)
    config = {"model": given.model, "prompts": prompts, "seeds": seeds, "steps": steps, "ks": KS}
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        numbers: dict[str, Any] = {"kernel": slopes(path, prompts, folder), "runs": []}
        header: dict[str, Any] = {"path": given.to, "device": device, "config": config}
        store("gpu", "torch", "transformers", **header, **numbers)
        print(json.dumps({name: numbers["kernel"][name] for name in ("k", "held out", "pairs")}))
        runs = [*planned(seeds, steps)]
        for run in runs[:: len(runs) // 3] if given.quick else runs:
            if time.monotonic() > end:
                break
            numbers["runs"].append(conducted(path, run, folder))
            print(
                settings_text(asdict(run)), np.round(numbers["runs"][-1]["held out"], 3).tolist(), flush=True
            )
            store("gpu", "torch", "transformers", **header, **numbers)
    if gpu and not given.quick and time.monotonic() < end:
        subprocess.run(
            [sys.executable, Path(__file__).with_name("training.py"), "--device", "cuda"], check=True
        )


if __name__ == "__main__":
    main()
