"""Cost of a DPH step against that of TRL's own GRPO trainer: seconds, operations, memory, side by side.

Each case trains the same model on the same prompts, in a process of its own, the cases taking turns. Seconds
are the processor's (which others on the machine lengthen less than the wall's), of the wall on a GPU.
"Training" is the step without the sampling, which is the same in all; a reference model's log-probabilities
belong to it.
Operations (of matrix products and attention, counted by torch) are the limit: 6 a weight and token for a row
that is trained on, 2 for one that is only scored. Memory is the most that tensors held at once in one step,
counted as they come and go (on a GPU, what torch had allocated): exact, and the same in every run.
Prints ratios to that trainer and stores them, with the machine, in benchmarks/results/training.json:
measurements of one machine on one day, so quote ratios. With --device cuda a larger model is trained in
bfloat16, and the numbers go to training-cuda.json.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from stored import store

SIZES: dict[str, dict[str, int]] = {
    "cpu": {
        "hidden": 256, "layers": 4, "heads": 4, "words": 4096, "tokens": 64, "batch": 8, "accumulate": 4,
    },
    "cuda": {
        "hidden": 1024, "layers": 12, "heads": 16, "words": 32000, "tokens": 512, "batch": 32,
        "accumulate": 4,
    },
}  # fmt: skip
GENERATIONS = 8
REHEARSED = {"divergence": "forward_kl", "eta": 0.05}
DEFINITION = {"divergence": "forward_kl", "rehearsal_form": "definition", "eta": 0.05}
WHAT = ("step_seconds", "training_seconds", "training_flops", "peak_bytes")
SHARES = {"25%": 0.25, "50%": 0.5, "100%": 1.0}
"""Rehearsal rows as a share of the rollouts of a step."""
BASE = "GRPO by TRL"
CASES: dict[str, dict[str, Any]] = {
    BASE: {},
    "GRPO by this trainer": {},
    "DPH-F as in the recipes: 50% rows, the meter on": {**REHEARSED, "share": 0.5, "collapse_every": 1},
    "GRPO + KL": {"beta": 0.04},
    **{f"DPH-F, {name} rows": {**REHEARSED, "share": share} for name, share in SHARES.items()},
    "DPH-F, 25% rows of unequal lengths": {**REHEARSED, "share": 0.25, "ragged": True},
    "DPH-F, 100% rows, two backward": {**REHEARSED, "share": 1.0, "two_backward": True},
    "DPH-F, definition form": DEFINITION,
}


def build(size: dict[str, int], folder: Path) -> None:
    """A Llama of this size with random weights, and a word-level tokenizer."""
    from full_scale.tasks.llama import random_llama, word_level

    names = ["<pad>", "<eos>", "<unk>", *(f"w{i}" for i in range(size["words"] - 3))]
    word_level(names, "<unk>", pad_token="<pad>", eos_token="<eos>").save_pretrained(folder)
    sizes = {"vocabulary": len(names), "end": 1} | {
        name: size[name] for name in ("hidden", "layers", "heads")
    }
    random_llama(
        0,
        **sizes,
        intermediate_size=4 * size["hidden"],
        max_position_embeddings=4 * size["tokens"],
        pad_token_id=0,
    ).save_pretrained(folder)


def random_words(rng: np.random.Generator, size: dict[str, int], count: int) -> list[int]:
    """Ids of `count` words, none of them special."""
    return rng.integers(3, size["words"], count).tolist()


def trainer_of(case: str, device: str, model: Path, output: Path, steps: int) -> Any:
    """The trainer of a case, every completion of the full length, rewards as good as random."""
    import torch
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    from full_scale.presampling.buffer import RehearsalBuffer, RehearsalRow
    from full_scale.training.collapse_meter import CollapseMeter
    from full_scale.training.online import OnlineConfig, OnlineTrainer

    size, settings = SIZES[device], dict(CASES[case])
    rng = np.random.default_rng(0)
    rollouts, tokens = size["batch"] * size["accumulate"], size["tokens"]
    prompts = [" ".join(f"w{i}" for i in random_words(rng, size, tokens // 4)) for _ in range(4 * rollouts)]
    share, metered = settings.pop("share", None), settings.get("collapse_every")
    if share is not None:
        lengths = np.full((2 * rollouts, 2), [tokens // 4, tokens])
        if settings.pop("ragged", False):
            # As many tokens on average.
            lengths = rng.integers(1, 2 * lengths)
        texts = [[random_words(rng, size, count) for count in pair] for pair in lengths]
        rows = [RehearsalRow(f"r{i}", *text, [-8.0] * len(text[1])) for i, text in enumerate(texts)]
        settings["rehearsal_rows"] = int(share * rollouts)
    online = settings.get("online") is not None
    args = (GRPOConfig if case == BASE else OnlineConfig)(
        output_dir=str(output),
        per_device_train_batch_size=size["batch"],
        gradient_accumulation_steps=size["accumulate"],
        num_generations=GENERATIONS,
        max_completion_length=tokens,
        generation_kwargs={"min_new_tokens": tokens},
        learning_rate=1e-6,
        max_steps=steps,
        save_strategy="no",
        report_to="none",
        use_cpu=device == "cpu",
        bf16=device == "cuda",
        gradient_checkpointing=False,
        disable_tqdm=True,
        **settings,
        **({} if case == BASE else {"log_u_tolerance": float("inf")}),
    )
    trainer = (GRPOTrainer if case == BASE else OnlineTrainer)(
        model=AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32),
        reward_funcs=lambda completions, **columns: [float(sum(map(ord, text)) % 2) for text in completions],
        args=args,
        train_dataset=Dataset.from_list([{"prompt": p, "example_id": p} for p in prompts]),
        processing_class=AutoTokenizer.from_pretrained(model),
        **({} if share is None else {"rehearsal": RehearsalBuffer.from_rows(rows, {})}),
        **({"base_rates": dict.fromkeys(prompts, 0.5)} if online else {}),
    )
    if metered:
        CollapseMeter(dict.fromkeys(prompts, 0.5)).attach(trainer)
    return trainer


def train(case: str, device: str, model: Path, steps: int) -> dict[str, float]:
    """Median seconds of a step and of its training, its operations and peak memory. In this process."""
    from counting import StepTimes, counted, timed

    with tempfile.TemporaryDirectory() as output:
        trainer = trainer_of(case, device, model, Path(output), steps)
        sampled = timed(trainer, device)
        marks = StepTimes(device)
        trainer.add_callback(marks)
        trainer.train()
        # The first step also recomputes the reference of the whole buffer, and warms up.
        took = np.subtract(marks.ends, marks.begins)[1:]
        del trainer
        return {
            "step_seconds": float(np.median(took)),
            "training_seconds": float(np.median(took - np.array(sampled[1:]))),
            **counted(trainer_of(case, device, model, Path(output), 2), device),
        }


def in_its_own_process(case: str, device: str, model: Path, steps: int) -> dict[str, float]:
    """`train`, where nothing else has ever used memory."""
    with tempfile.NamedTemporaryFile(suffix=".json") as numbers:
        command = [sys.executable, __file__, "--device", device, "--steps", str(steps)]
        done = subprocess.run(
            [*command, "--case", case, "--model", str(model), "--out", numbers.name],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )
        if done.returncode:
            raise RuntimeError(f"{case}: {done.stderr[-2000:]}")
        return json.loads(Path(numbers.name).read_text())


def measured(device: str, rounds: int, steps: int, cases: Sequence[str]) -> list[dict[str, Any]]:
    """Medians over the rounds, and the median over the rounds of the ratio to GRPO in the same round."""
    rounds_of: dict[str, list[dict[str, float]]] = {case: [] for case in cases}
    with tempfile.TemporaryDirectory() as model:
        build(SIZES[device], Path(model))
        for _ in range(rounds):
            for case in cases:
                rounds_of[case].append(in_its_own_process(case, device, Path(model), steps))
    rows = []
    for case in cases:
        row: dict[str, Any] = {"case": case}
        own, base = rounds_of[case], rounds_of[BASE]
        for what in WHAT:
            ratios = [mine[what] / grpo[what] for mine, grpo in zip(own, base, strict=True)]
            row[what] = float(np.median([round_[what] for round_ in own]))
            row[f"{what}_over_grpo"] = float(np.median(ratios))
            row[f"{what}_over_grpo_range"] = [min(ratios), max(ratios)]
        rows.append(row)
    return rows


def report(rows: list[dict[str, Any]]) -> None:
    """Print the ratios."""
    table = Table("case", *(f"{what.replace('_', ' ')} / GRPO's" for what in WHAT), "step, s", "memory, MB")
    for row in rows:
        ratios = [f"{row[f'{what}_over_grpo']:.3f}" for what in WHAT]
        table.add_row(row["case"], *ratios, f"{row['step_seconds']:.2f}", f"{row['peak_bytes'] / 1e6:.0f}")
    Console(width=120).print(table)


def main() -> None:
    """Measure everything and store it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=sorted(SIZES), default="cpu")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each case")
    parser.add_argument("--steps", type=int, default=5, help="optimizer steps, the first not counted")
    parser.add_argument("--out", type=Path, help="where to store them, with --case")
    parser.add_argument("--case", choices=list(CASES), help="this case alone, in this process")
    parser.add_argument("--model", type=Path, help="the folder of the model, with --case")
    options = parser.parse_args()
    if options.case is not None:
        options.out.write_text(json.dumps(train(options.case, options.device, options.model, options.steps)))
        return
    import torch

    rows = measured(options.device, options.rounds, options.steps, list(CASES))
    name = "training" if options.device == "cpu" else "training-cuda"
    numbers = {"gpu": torch.cuda.get_device_name() if options.device == "cuda" else None, "rows": rows}
    numbers |= {"model": SIZES[options.device], "generations": GENERATIONS}
    numbers |= {"rounds": options.rounds, "steps": options.steps}
    store(name, "torch", "transformers", "trl", **numbers)
    report(rows)


if __name__ == "__main__":
    main()
