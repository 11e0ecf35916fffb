"""Processor seconds of the commands: of every help, and of what should answer at once.

With --beside FOLDER also those of another checkout, by turns in one run; medians over rounds, after one
that compiles. Stored with the machine in benchmarks/results/commands.json; quote ratios.
"""

import argparse
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path

from rich.table import Table
from stored import store

from dph_cli import AUDITS, COMMANDS, EXPERIMENTS
from dph_theory.support.terminal import console

ROOT = Path(__file__).parents[1]
HELPS = [
    "",
    *COMMANDS,
    *(f"audit {name}" for name in AUDITS),
    *(f"experiment {name}" for name in EXPERIMENTS),
]
AT_ONCE = (
    "predict trl beta=0.04",
    "predict trl beta=0.04 --counts examples/counts/base.jsonl",
    "predict trl beta=0 learning_rate=1e-6 max_steps=20 --transfer examples/transfer/kernel.npz",
    "audit loss examples/audit_your_own_loss.py:penalty --samples policy",
    "audit metric examples/audit_your_own_metric.py:unbiased",
    "compare examples/counts/base.jsonl examples/counts/grpo.jsonl",
    "experiment --list",
    "experiment pretrained --list",
    "experiment small-llama --list",
    "verify --list",
)


def seconds(folder: Path, words: list[str]) -> float:
    """Of the processor, of the command in a checkout; nan where another does not have it."""
    process = subprocess.Popen(
        [sys.executable, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode and folder != ROOT:
        return math.nan
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} failed in {folder}")
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beside", type=Path, help="folder of another checkout")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    folders = {"here": ROOT, **({"beside": options.beside} if options.beside else {})}
    commands = [*(f"{name} --help".strip() for name in HELPS), *AT_ONCE]
    measured: dict[str, dict[str, float]] = {}
    for name in ("", *commands):
        words = ["-m", "dph_cli", *name.split()] if name else ["-c", "pass"]
        rounds = [{where: seconds(folder, words) for where, folder in folders.items()}
                  for _ in range(options.rounds + 1)][1:]  # fmt: skip
        measured[name or "python alone"] = {
            where: statistics.median(row[where] for row in rounds) for where in folders
        }
    table = Table("processor seconds of dph", *folders)
    for name, row in measured.items():
        table.add_row(name, *(f"{number:.2f}" for number in row.values()))
    console().print(table)
    store(
        "commands",
        "click",
        "numpy",
        "torch",
        seconds={name: {where: x for where, x in row.items() if x == x} for name, row in measured.items()},
    )


if __name__ == "__main__":
    main()
