"""`dph compare`: what changed between two checkpoints, from how often each prompt was answered correctly."""

import os
from pathlib import Path
from typing import Any

import click

from ..support import terminal

_PATH = click.Path(exists=True, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_GROUP = click.IntRange(2, 4096)
"""The weight of a group is a sum over all counts of successes at each rate."""


def _numbers(text: str) -> tuple[int, ...]:
    if not all(part.strip().isdigit() and int(part) > 0 for part in text.split(",")):
        raise click.BadParameter(f"{text!r}: whole numbers from 1 on, with commas between")
    return tuple(map(int, text.split(",")))


@click.command(name="compare", short_help="What changed between two checkpoints, from counts alone.")
@click.argument("base", type=_PATH)
@click.argument("runs", type=_PATH, nargs=-1, required=True, metavar="RUN...")
@terminal.counts_options
@click.option("--allow-missing", is_flag=True, help="Leave out, and count, prompts that one file lacks.")
@click.option("--min-n", type=click.IntRange(min=1), default=1, help="Minimum number of answers to a prompt.")
@click.option("--k", "ks", type=_numbers, metavar="K,K,...", help="Values of k. [default: 1, 2, ...]")
@click.option(
    "--group-size", type=_GROUP, default=8, show_default=True, help="Answers in a group of the training."
)
@click.option(
    "--possible-answers", type=click.IntRange(min=2), metavar="M",
    help="Pass@k of a uniform guess at M answers, 1-(1-1/M)^k. Where it nears 1 (M = 10, k = 32: "
    "0.97), the answer space is small and Pass@k measures guessing.",
)  # fmt: skip
@click.option("--by", metavar="FIELD", help="Field of the rows whose categories are shown.")
@click.option("--by-step", is_flag=True, help="Compare each step of a RUN: a field step, or a file each.")
@click.option("--mean", is_flag=True, help="Show the mean of the RUNs too, seeds of one method.")
@click.option(
    "--trained", type=_FILE, help="File of the ids of trained prompts, one per line; they are left out."
)
@terminal.seed
@click.option("--all", "everything", is_flag=True, help="Print every table.")
@click.option("--json", "json_path", type=terminal.OutputFile(), help="File of all results; - prints it.")
def compare_command(**options: Any) -> None:
    """Compare each RUN with BASE: files of rows {"id", "n", "c"}, c correct among n answers to a prompt.

    Or records of evaluations and logs of trainers (lm-eval, Inspect, lighteval, TRL, verl and others), a
    folder of them or of dph evaluate: which, is seen from the columns. Of several RUNs, or --by-step, a band
    over all of them shows which differ.

    Prints what changed in a few sentences, and Pass@k with a band over all k; --all prints the rest. Exits 2
    for files that cannot be read or paired, naming file and line.
    """
    # Arrays are small: more threads only wait for each other.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from .command import print_comparison

    print_comparison(**options)
