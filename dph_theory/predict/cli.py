"""`dph predict`: what a run's settings will do, the answer first."""

from pathlib import Path
from typing import Any

import click

from ..support import terminal

_SHARE = click.FloatRange(min=0, max=1, max_open=True)
_FILE = click.Path(exists=True, path_type=Path)
_COUNT = click.IntRange(min=1)


@click.command(name="predict", short_help="Predict what a run's settings will do.")
@click.argument("config", metavar="CONFIG|TRAINER")
@click.argument("overrides", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--counts", type=_FILE, help="Counts of the base by prompt, as `dph compare` reads them.")
@terminal.counts_options
@click.option("--base-rates", type=_FILE, help="Pass rates of the base: JSON, a list or by prompt.")
@click.option("--trainer", help="Trainer of the file, if its names do not show it.")
@click.option("--trainer-version", "version", help="Version of the trainer, as 0.18 of TRL.")
@click.option(
    "--steps", type=_COUNT, help="Number of training steps, if not in the settings; with --transfer."
)
@click.option("--transfer", type=_FILE, help="Kernel of the prompts, by dph transfer.")
@click.option("--held-out", metavar="NAME", help="Held-out set of the kernel; with --transfer.")
@click.option("--prompts-a-step", type=_COUNT, help="Prompts in a step; with --transfer. [default: all]")
@click.option("--all", "show_all", is_flag=True, help="Print every setting, prompt, and note.")
@click.option("--k", "-k", type=_COUNT, help="Value of k. [default: 8; with --transfer 256]")
@click.option("--false-positive", default=0.0, type=_SHARE, help="Share of incorrect answers accepted.")
@click.option("--false-negative", default=0.0, type=_SHARE, help="Share of correct answers refused.")
@click.option("--json", "json_path", type=terminal.OutputFile(), help="File of the prediction.")
def predict_command(**options: Any) -> None:
    """Predict what a run does to Pass@k of held-out prompts, and what would retain more.

    CONFIG is a YAML, JSON or TOML file of settings, a script, Python or a notebook that starts the run, or a
    recipe of dph train; TRAINER one of trl, verl, slime, openrlhf, nemo-rl, prime-rl, skyrl, areal, tinker,
    ms-swift, with its own defaults. Either way settings follow by the trainer's own names, as beta=0.04.

    The answer holds if nothing that was not read changes the loss: names that were not read are counted, and
    those that may change it are named.
    """
    from .command import print_prediction

    print_prediction(**options)
