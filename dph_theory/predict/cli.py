"""`dph predict`: what a run's settings will do, the answer first."""

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from ..numeric.arrays import probability
from ..support import terminal
from ..support.files import STANDARD_OUTPUT, write_json
from . import Prediction, answer, predict
from .configuration import configuration_of, trainer_named, trainer_of
from .reading import Configuration
from .settings import overridden, read

_POSITIVE = click.FloatRange(min=0, min_open=True)
_SHARE = click.FloatRange(min=0, max=1, max_open=True)
_FILE = click.Path(exists=True, path_type=Path)


@click.command(name="predict", short_help="Predict what a run's settings will do.")
@click.argument("config", metavar="CONFIG|TRAINER")
@click.argument("overrides", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--counts", type=_FILE, help="The base's counts by prompt, as `dph confront` reads them.")
@click.option("--base-rates", type=_FILE, help="Its pass rates: JSON, a list or by prompt; or counts.")
@click.option("--trainer", help="Whose file it is, if its names do not tell.")
@click.option("--version", help="TRL's, such as 1.9: its default KL changed in 1.10.")
@click.option("--step", type=_POSITIVE, help="A step's size in logits, as the collapse meter logs it.")
@click.option("--learning-rate", type=(_POSITIVE, _POSITIVE), help="Yours, and that of the --step measured.")
@click.option("--steps", type=click.IntRange(min=1), help="How long you train: the pass rates by then.")
@click.option("-k", type=click.IntRange(min=1), default=8, show_default=True, help="Pass@k is told.")
@click.option("--false-positive", default=0.0, type=_SHARE, help="Share of wrong answers accepted.")
@click.option("--false-negative", default=0.0, type=_SHARE, help="Share of right answers refused.")
@click.option(
    "--answers", type=click.IntRange(min=1), help="Answers a step, of all groups: luck. [default: 64]"
)
@click.option(
    "--right", default=2, show_default=True, type=click.IntRange(min=2), help="Equally likely ones: for time."
)
@click.option(
    "--wrong", default=8, show_default=True, type=click.IntRange(min=1), help="Equally likely ones: for time."
)
@click.option("--json", "json_path", type=terminal.OutputFile(), help="Write it there.")
def predict_command(
    config: str,
    overrides: tuple[str, ...],
    counts: Path | None,
    base_rates: Path | None,
    trainer: str | None,
    version: str | None,
    step: float | None,
    learning_rate: tuple[float, float] | None,
    steps: int | None,
    k: int,
    json_path: Path | None,
    **decision: Any,
) -> None:
    """Tell which pass rates a run's settings lead to, when, what is kept, and what would keep more.

    CONFIG is a YAML, JSON or TOML file of settings, Python that calls GRPOConfig, or a file with the command
    line; TRAINER one of trl, verl, slime, openrlhf, nemo-rl, prime-rl, skyrl, areal, tinker, with its own
    defaults. Either way settings follow by the trainer's own names, as beta=0.04.

    The pass rates are those of prompts that one decision answers. Settings that nothing read are named.
    """
    step = _scaled(step, learning_rate, steps)
    if counts is not None and base_rates is not None:
        raise click.UsageError("--counts and --base-rates: one of the two")
    settings, whose = _settings(config, overrides, trainer)
    rates = _rates(counts or base_rates, counts is not None)
    try:
        found = configuration_of(settings, whose, version=version)
        told, why = None, "" if rates else "Give the base's pass rates (--counts) for pass rates and times."
        if rates and found.unpredicted:
            why = f"No pass rates are told: {found.unpredicted}." * (found.unpredicted not in found.law)
        elif rates:
            told = predict(found, rates, step=step, steps=steps, **decision)
        better = answer.better(settings, whose, found, version)
    except ValueError as error:
        raise click.UsageError(f"{config}: {error}") from error
    if json_path is not None:
        alone = {} if told is None else {"prediction": {**told.to_dict(), "configuration": None}}
        write_json(json_path, found.to_dict() | alone)
    console = terminal.console(stderr=json_path == STANDARD_OUTPUT)
    for line in answer.lines(found, told, k=k, step=step, steps=steps, better=better, why=why):
        terminal.say(console, line)
    _details(console, found, told)


def _details(console: Console, found: Configuration, told: Prediction | None) -> None:
    """What the settings are, each prompt's pass rates, and notes, in as few columns."""
    console.width = min(console.width, answer.WIDTH)
    tables = found.tables()
    if told is not None:
        tables += [answer.by_prompt(told), *told.tables()[1:]]
    for table in tables:
        shown = table.rich()
        shown.columns[0].max_width = 30
        for column in shown.columns:
            column.overflow = "fold"  # A setting's name is told whole.
        console.print()
        console.print(shown)
    for note in answer.notes(found, told):
        terminal.say(console, note)


def _scaled(step: float | None, learning_rate: tuple[float, float] | None, steps: int | None) -> float | None:
    """The step in logits at the learning rate asked for."""
    if step is None and (steps is not None or learning_rate is not None):
        raise click.UsageError("--steps and --learning-rate need --step, a step's size in logits")
    if step is None or learning_rate is None:
        return step
    return step * learning_rate[0] / learning_rate[1]


def _settings(config: str, overrides: tuple[str, ...], trainer: str | None) -> tuple[dict[str, Any], str]:
    """The settings of a file or of a trainer's name, with overrides, and whose they are."""
    path = Path(config)
    try:
        if path.is_file():
            found = read(path, overrides)
            return found, trainer_of(found) if trainer is None else trainer_named(trainer)
        if path.suffix or path.parent != Path():
            raise click.UsageError(f"there is no file {config}")
        whose = trainer_named(config)
        return overridden(overrides), whose
    except (SyntaxError, ValueError) as error:
        raise click.UsageError(f"{config}: {error}") from error


def _rates(path: Path | None, counted: bool) -> dict[str, float] | list[float]:
    """The base rates, by prompt if they are; UsageError says what is wrong with the file."""
    if path is None:
        return []
    try:
        if counted or path.suffix != ".json":
            from ..counts import read_counts

            return {str(row.id): row.c / row.n for row in read_counts(path).rows.values()}
        found = json.loads(path.read_text(encoding="utf-8"))
        rates = list(found.values()) if isinstance(found, dict) else found
        if not isinstance(rates, list) or any(type(rate) not in (int, float) for rate in rates):
            raise ValueError("must hold a list of numbers, or an object of them")
        if not rates:
            raise ValueError("must hold at least one base rate")
        probability("base_rates", rates)
    except ValueError as error:
        said = "no JSON: " * isinstance(error, json.JSONDecodeError)
        option = "--counts" if counted else "--base-rates"
        raise click.UsageError(f"{option} {path}: {said}{error}") from error
    return found
