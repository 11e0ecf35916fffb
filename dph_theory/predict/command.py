"""What `dph predict` prints: of the settings and the files that it is given."""

import json
import re
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from rich.console import Console

from ..numeric.arrays import probability
from ..support import terminal
from ..support.errors import argument_error
from ..support.files import STANDARD_OUTPUT, write_json
from .configuration import Configuration
from .interpretation import READERS, VERSION, Reader, configuration_of, trainer_named, trainer_of
from .prediction import predict
from .report import WIDTH, Base, PredictionReport, by_prompt, notes
from .run_files import ConfiguredRun, overridden, runs
from .settings import version_parts
from .stored_runs import advice

if TYPE_CHECKING:
    from .shared_model import SharedModelForecast


def print_prediction(
    config: str,
    overrides: tuple[str, ...],
    counts: Path | None,
    base_rates: Path | None,
    trainer: str | None,
    chosen: int | None,
    version: str | None,
    step: float | None,
    learning_rate: tuple[float, float] | None,
    steps: int | None,
    k: int | None,
    json_path: Path | None,
    transfer: Path | None,
    held_out: str | None,
    prompts_a_step: int | None,
    show_all: bool,
    **options: Any,
) -> None:
    """Print the prediction, and write it where a file is named; UsageError for what does not fit."""
    run, trainer_name = _settings(config, overrides, trainer, chosen)
    if steps is None and (step is not None or transfer is not None):
        stated = run.settings.get(READERS[trainer_name].steps)
        steps = int(stated) if isinstance(stated, int | float) and stated >= 1 else None  # -1 is no limit.
    k = k or (8 if transfer is None else 256)
    step = _scaled(step, learning_rate, steps if transfer is None else None)
    base = _rates(counts, base_rates, {name: options.pop(name) for name in terminal.COUNTS_OPTIONS})
    try:
        configuration = run.configuration or configuration_of(run, trainer_name, version=version)
        forecast = None
        if transfer is not None and configuration.rehearsal is not None:
            raise ValueError("--transfer forecasts no rehearsal: method.name=GRPO for what explores")
        if transfer is not None:
            training = {"steps": steps, "k": k, "held_out": held_out, "batch": prompts_a_step}
            forecast = _forecast(transfer, configuration, run, READERS[trainer_name].rate, **training)
        prediction, steps = None, steps if step else None
        if base is not None and not configuration.objective.unpredicted:
            prediction = predict(configuration, base.rates, step=step, steps=steps, **options)
        settled = forecast is not None or run.configuration is not None
        retained = None if settled else advice(run.settings, trainer_name, configuration, version)
        source = _source(run, configuration, trainer_name)
        report = PredictionReport(configuration, prediction, base, k, step, steps, forecast, retained, source)
    except ValueError as error:
        raise click.UsageError(f"{config}: {error}") from error
    if json_path is not None:
        write_json(json_path, report.to_dict())
    console = terminal.console(stderr=json_path == STANDARD_OUTPUT)
    undecided = configuration.objective.undecided
    next_command = _next_command((config, *overrides), undecided, READERS[trainer_name])
    if show_all and next_command.endswith(" --all"):
        next_command = ""  # That is what was run.
    terminal.say(console, "\n".join(report.lines(next_command, "" if transfer is None else str(transfer))))
    if show_all:
        _details(console, report)
    if undecided:
        raise click.exceptions.Exit(1)


def _source(run: ConfiguredRun, configuration: Configuration, trainer: str) -> str:
    """What was read of a file, and of a program whose settings are not all stated how to have them."""
    resolved = f"; for what it resolves: {READERS[trainer].resolved}"
    resolves = run.marks and configuration.objective.undecided
    return f"{run.where}{resolved if resolves else ''}" if run.file else ""


def _forecast(
    path: Path, configuration: Configuration, run: ConfiguredRun, rate_name: str, **options: Any
) -> "SharedModelForecast":
    """The forecast of a run by a measured kernel; UsageError for what it lacks."""
    from ..transfer import AnswerKernel, LinearisedMethod
    from .shared_model import forecast

    rate = run.settings.get(rate_name)
    if not isinstance(rate, int | float) or rate <= 0:
        example = f"{rate_name}=1e-6, or as you have it"
        raise click.UsageError(f"--transfer needs the learning rate of Adam: {example}")
    if options["steps"] is None:
        raise click.UsageError("--transfer needs how long you train: --steps")
    method = LinearisedMethod.from_objective(configuration.objective)
    return forecast(AnswerKernel.load(path), method, learning_rate=float(rate), **options)


def _details(console: Console, report: PredictionReport) -> None:
    """What the settings are, each prompt's pass rates, and notes, in as few columns."""
    console.width = min(console.width, WIDTH)
    tables = report.configuration.tables()
    if report.forecast is not None:
        tables += report.forecast.tables()
    if report.prediction is not None:
        tables += [by_prompt(report.prediction), *report.prediction.tables()[1:]]
    for table in tables:
        rich_table = table.rich()
        rich_table.columns[0].max_width = 30
        for column in rich_table.columns:
            column.overflow = "fold"  # A setting's name is shown whole.
        console.print()
        console.print(rich_table)
    further = report.forecast.notes() if report.forecast else []
    for note in (*further, *notes(report.configuration, report.prediction)):
        terminal.say(console, textwrap.fill(note, WIDTH))


def _next_command(words: Sequence[str], undecided: Sequence[str], reader: Reader) -> str:
    """What to run next of undecided settings, as it is printed: without them, or with the right name."""
    changed, comment = list[str](), ""
    for word in words:
        name, _, value = word.partition("=")
        texts = [text for text in undecided if text.startswith(word)]
        right = re.search(r"; is (\S+) meant\?", texts[0]) if texts else None
        if not texts:
            changed.append(word)
        elif right and right[1] not in {word.partition("=")[0] for word in words}:
            changed.append(f"{right[1]}={value}")
        elif reader.coefficient and "meant?" not in texts[0] and re.search("kl.*(coef|beta)", name):
            changed.append(f"{reader.coefficient}={value}")
            comment = f"  # {reader.title} calls it {reader.coefficient}"
    more = ["--all"] if changed == [*words] else []
    if any(text.startswith(VERSION) for text in undecided):
        newest = max((since for default in reader.defaults.values() for since in default), key=version_parts)
        more, comment = ["--trainer-version", newest], "  # or yours"
    return f"dph predict {shlex.join([*changed, *more])}{comment}" if undecided else ""


def _scaled(step: float | None, learning_rate: tuple[float, float] | None, steps: int | None) -> float | None:
    """The step in logits at the learning rate asked for."""
    if step is None and (steps is not None or learning_rate is not None):
        raise click.UsageError("--steps and --learning-rate need --step, a step's size in logits")
    if step is None or learning_rate is None:
        return step
    return step * learning_rate[0] / learning_rate[1]


def _settings(
    config: str, overrides: tuple[str, ...], trainer: str | None, chosen: int | None
) -> tuple[ConfiguredRun, str]:
    """The run of a file or of a trainer's name, with overrides, and whose it is."""
    path = Path(config)
    try:
        if not path.is_file():
            if path.suffix or path.parent != Path():
                raise click.UsageError(f"there is no file {config}")
            settings = overridden(overrides)
            return ConfiguredRun(config, (), settings, frozenset(settings), file=False), trainer_named(config)
        if trainer is None and (own := _own_recipe(path, overrides)):
            return own, "trl"
        recognised = _recognised(path, overrides, trainer)
        if len(recognised) > 1 and chosen is None:
            listed = "; ".join(f"--run {i + 1}: {run.where}" for i, (run, _) in enumerate(recognised))
            raise ValueError(f"it states {len(recognised)} runs that differ: say which ({listed})")
        if chosen is not None and chosen > len(recognised):
            raise argument_error("run", chosen, f"at most {len(recognised)}: the runs that this file states")
        return recognised[(chosen or 1) - 1]
    except (SyntaxError, ValueError) as error:
        raise click.UsageError(f"{config}: {error}") from error


def _own_recipe(path: Path, overrides: tuple[str, ...]) -> ConfiguredRun | None:
    """The run of a recipe of `dph train`, read by the function that the whole `dph` names."""
    place = (click.get_current_context().find_root().obj or {}).get("recipes", "")
    sections = re.compile(r"^(?:extends|method|task):", re.M)
    is_yaml = path.suffix in (".yaml", ".yml")
    if not (place and is_yaml and sections.search(path.read_text(encoding="utf-8-sig"))):
        return None
    run: ConfiguredRun | None = resolve_name(place)(path, overrides)
    return run


def _recognised(
    path: Path, overrides: tuple[str, ...], trainer: str | None
) -> list[tuple[ConfiguredRun, str]]:
    """A file's runs that differ, each with whose it is; ValueError where none is a trainer's."""
    recognised: list[tuple[ConfiguredRun, str]] = []
    errors, stated = list[str](), runs(path, overrides)
    if trainer is not None:
        reader = READERS[trainer_named(trainer)]
        stated = [run for run in stated if reader.own_settings(run.settings)] or stated[:1]
    for run in stated:
        try:
            name = trainer_of(run) if trainer is None else trainer_named(trainer)
        except ValueError as error:
            errors.append(str(error))
        else:
            if all(run.settings != other.settings for other, _ in recognised):
                recognised.append((run, name))
    if not recognised:
        raise ValueError(next((text for text in errors if ": this is " in text), errors[-1]))
    return recognised


def _rates(counts: Path | None, base_rates: Path | None, reading: Mapping[str, Any]) -> Base | None:
    """The base's pass rates, by prompt if they are; UsageError says what is wrong with the file."""
    if counts is not None and base_rates is not None:
        raise click.UsageError("--counts and --base-rates: one of the two")
    path = counts or base_rates
    if path is None:
        return None
    try:
        if counts is not None:
            from ..checkpoints import read_counts

            rows = read_counts(path, **reading).rows.values()
            n, c = (np.array([getattr(row, column) for row in rows]) for column in ("n", "c"))
            return Base({str(row.id): row.c / row.n for row in rows}, n, c)
        stored = json.loads(path.read_text(encoding="utf-8"))
        rates = list(stored.values()) if isinstance(stored, dict) else stored
        if not isinstance(rates, list) or any(type(rate) not in (int, float) for rate in rates):
            raise ValueError("must hold a list of numbers, or an object of them")
        if not rates:
            raise ValueError("must hold at least one base rate")
        probability("base_rates", rates)
    except ValueError as error:
        kind = "no JSON: " if isinstance(error, json.JSONDecodeError) else ""
        # What is wrong with counts names the file itself.
        where = f"--base-rates {path}: {kind}" if counts is None else "--counts: "
        raise click.UsageError(f"{where}{error}") from error
    return Base(stored)
