"""`dph confront`: what changed between two checkpoints, from how often each prompt was answered correctly."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from ..support import terminal
from ..support.errors import argument_error, choice
from ..support.files import STANDARD_OUTPUT, write_json
from ..support.record import record
from ..support.table import Table, printable
from ..transfer import AnswerKernel, LinearisedMethod
from .confrontation import Confrontation, confront
from .counts import Counts, UnmatchedPromptsError
from .kernel_course import KernelCourse
from .pilot import pilot_forecast
from .reading import distinct_names, read_counts, read_steps
from .report import curve_table, requested, sentences, tables
from .several_runs import compare_runs

KIND = "confront"
_PATH = click.Path(exists=True, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_BY_KERNEL = ("transfer", "learning_rate")
_WIDTH = 80
"""Columns of what is printed unasked."""
_STEP, _RATE = click.IntRange(min=1), click.FloatRange(min=0, min_open=True)
_GROUP = click.IntRange(2, 4096)
"""The weight of a group is a sum over all counts of successes at each rate."""


def budgets(text: str) -> tuple[int, ...]:
    """Whole numbers with commas between, in increasing order, each once."""
    parts = text.split(",")
    if not all(part.strip().isdigit() and int(part) > 0 for part in parts):
        raise click.BadParameter(f"{text!r}: whole numbers from 1 on, with commas between")
    return tuple(sorted({int(part) for part in parts}))


def difference(text: str) -> tuple[float, int]:
    """A difference of Pass@1, or of Pass@k after an @."""
    value, _, k = text.partition("@")
    try:
        return float(value), int(k or 1)
    except ValueError as error:
        raise click.BadParameter(f"{text!r}: a number such as 0.02, or with a k such as 0.02@8") from error


def steps_of(text: str) -> list[int]:
    """Steps in the order of the files, with commas between."""
    if not all(part.strip().isdigit() for part in text.split(",")):
        raise click.BadParameter(f"{text!r}: whole numbers, with commas between")
    return [int(part) for part in text.split(",")]


@click.command(name="confront", short_help="What changed between two checkpoints, from counts alone.")
@click.argument("base", type=_PATH)
@click.argument("runs", type=_PATH, nargs=-1, required=True, metavar="RUN...")
@terminal.counts_options
@click.option("--allow-missing", is_flag=True, help="Leave out, and count, prompts that one file lacks.")
@click.option("--min-n", type=click.IntRange(min=1), default=1, help="Least number of answers to a prompt.")
@click.option("--k", "ks", type=budgets, metavar="K,K,...", help="Values of k. [default: 1, 2, ...]")
@click.option(
    "--group-size", type=_GROUP, default=8, show_default=True, help="Answers in a group of the training."
)
@click.option(
    "--power", type=difference, metavar="D[@K]", multiple=True, help="Difference to detect, 0.02@8 of Pass@8."
)
@click.option("--beyond", type=budgets, metavar="K,K,...", help="More values of k, by fitted pass rates.")
@click.option(
    "--laws",
    "fit_policies",
    is_flag=True,
    help='Fit KL-regularised optima, even if "no change" is not rejected.',
)
@click.option("--by", metavar="FIELD", help="Field of the rows whose categories are shown.")
@click.option("--by-step", is_flag=True, help="Compare each step of a RUN: a field step, or a file each.")
@click.option("--mean", is_flag=True, help="Show the mean of the RUNs too, seeds of one method.")
@click.option("--draws", type=click.IntRange(min=2), default=4000, show_default=True, help="Bootstrap draws.")
@click.option("--until", type=_STEP, metavar="STEP", help="Step to forecast; the RUNs are checkpoints.")
@click.option("--at", type=steps_of, metavar="STEP,...", help="Steps of the RUNs. [default: in file names]")
@click.option("--trained", type=_FILE, help="Ids of the trained prompts, a line each; with --until.")
@click.option("--transfer", type=_FILE, help="Kernel of the base, by dph transfer; with --until.")
@click.option("--learning-rate", type=_RATE, help="Learning rate of the run, of Adam; with --transfer.")
@click.option(
    "--divided-by", type=click.Choice(("std", "mean", "none")), default="std", help="Divisor of advantages."
)
@terminal.seed
@click.option("--all", "everything", is_flag=True, help="Print every table.")
@click.option("--json", "json_path", type=terminal.OutputFile(), help="File of all results; - prints it.")
@click.option("--labels", type=_FILE, help="YAML of names by file or folder: of the base, of the runs.")
def confront_command(
    base: Path,
    runs: tuple[Path, ...],
    json_path: Path | None,
    labels: Path | None,
    everything: bool,
    **options: Any,
) -> None:
    """Compare each RUN with BASE: files of rows {"id", "n", "c"}, c correct among n answers to a prompt.

    JSON lines, .csv, .parquet, a log of TRL, verl, lm-eval or Inspect, or a folder of dph evaluate: which, is
    seen from the columns. Of several RUNs, or --by-step, a band over all of them shows which differ. With
    --until they are checkpoints of one run, and Pass@k at a later step is forecast.

    Prints what changed in a few sentences, and Pass@k with a band over all k; --all prints the rest. Exits 2
    for files that cannot be read or paired, naming file and line.
    """
    reading = {name: options.pop(name) for name in terminal.COUNTS_OPTIONS}
    by, by_step, seeds = (options.pop(name) for name in ("by", "by_step", "mean"))
    forecast = {name: options.pop(name) for name in ("until", "at", "trained", "divided_by", *_BY_KERNEL)}
    # What goes to standard output must be the record alone.
    console = terminal.console(highlight=False, quiet=json_path == STANDARD_OUTPUT)
    console.width = console.width if everything else min(console.width, _WIDTH)
    confrontations: list[Confrontation] = []
    printed_notes: set[str] = set()
    checkpoints: list[tuple[str, int | None, Counts]] = []
    try:
        first_name, *names = _names([base, *runs], labels)
        first = replace(read_counts(base, by=by, **reading), name=first_name)
        band = {name: options[name] for name in ("ks", "draws", "seed", "allow_missing", "min_n")}
        if forecast["until"] is not None:
            later = _checkpoints(runs, forecast["at"], by_step, reading)
            _print_forecast(console, first, later, json_path, options["group_size"], {**forecast, **band})
            console.print(f"Next: dph confront {base} {runs[-1]}", markup=False, soft_wrap=True)
            return
        for path, name in zip(runs, names, strict=True):
            steps = read_steps(path, **reading) if by_step else {None: read_counts(path, **reading)}
            for step, run in steps.items():
                run = replace(run, name=name if step is None else f"{name}, step {step}")
                checkpoints.append((name, step, run))
            # Of a training's steps the last is shown alone, all of them together.
            confrontations.append(confront(first, run, **options))
        many = len(checkpoints) > 1 or seeds
        several = compare_runs(first, checkpoints, seeds=seeds, **band) if many else None
    except ValueError as error:
        hint = "; --allow-missing leaves them out" if isinstance(error, UnmatchedPromptsError) else ""
        raise click.UsageError(f"{error}{hint}") from error
    if json_path is not None:  # Before anything is said, which a closed pipe would end.
        together, fitted = several and several.to_dict(), options.pop("fit_policies")
        results = {"runs": [one.to_dict() for one in confrontations], "together": together}
        lines = [line for one in confrontations for line in sentences(one)]
        write_json(json_path, _record(results, lines, laws=fitted, **options))
    for confrontation in confrontations:
        show(console, confrontation, everything, printed_notes)
    if several is not None:
        _print(console, several.summary(), several.tables())
    if not (several and seeds):
        console.print("Intervals are over prompts; other seeds are not in them (--mean). More: --all")
    console.print(f"Next: dph predict CONFIG --counts {base}", markup=False, soft_wrap=True)


def _ids(path: Path | None) -> list[str] | None:
    """The lines of a file that are not empty."""
    return None if path is None else [*filter(None, map(str.strip, path.read_text("utf-8").splitlines()))]


def _print_forecast(
    console: Console,
    base: Counts,
    checkpoints: Mapping[int, Counts],
    json_path: Path | None,
    group_size: int,
    settings: dict[str, Any],
) -> None:
    """The forecast of a run from its checkpoints: stored, and printed."""
    path, divided_by, kernel = settings["trained"], settings["divided_by"], None
    band = {name: settings[name] for name in ("ks", "draws", "seed", "allow_missing", "min_n")}
    method, until = LinearisedMethod(divided_by, group_size), settings["until"]
    file, rate = (settings[name] for name in _BY_KERNEL)
    if (file is None) != (rate is None):
        raise click.UsageError("--transfer needs the learning rate of Adam, --learning-rate needs --transfer")
    if file is not None:
        kernel = KernelCourse.from_kernel(AnswerKernel.load(file), method, until, rate)
    forecast = pilot_forecast(base, checkpoints, until, _ids(path), method=method, kernel=kernel, **band)
    if json_path is not None:
        config = {"until": forecast.until, "trained": path and str(path), "divided_by": divided_by, **band}
        config |= {"group_size": group_size, "transfer": file and str(file), "learning_rate": rate}
        lines, results = forecast.summary().splitlines(), {"forecast": forecast.to_dict()}
        write_json(json_path, _record(results, lines, **config))
    _print(console, forecast.summary(), forecast.tables())


def _checkpoints(
    runs: Sequence[Path], at: Sequence[int] | None, by_step: bool, reading: Mapping[str, Any]
) -> dict[int, Counts]:
    """The checkpoints by step: a field's, a name's last number, or as they are given."""
    if at is not None and not len(at) == len(set(at)) == len(runs):
        raise argument_error("at", at, f"a step of its own for each of the {len(runs)} files")
    checkpoints: dict[int, Counts] = {}
    for place, path in enumerate(runs):
        numbers = re.findall(r"\d+", path.stem)
        if by_step:
            checkpoints |= read_steps(path, **reading)
        elif at or numbers:
            checkpoints[at[place] if at else int(numbers[-1])] = read_counts(path, **reading)
        else:
            raise argument_error("at", None, f"the step of {path.name}, whose name has none: --at 50")
    return {step: counts for step, counts in checkpoints.items() if step}


def _record(
    results: Mapping[str, Any], findings: Sequence[str], *, seed: int, ks: Any, **settings: Any
) -> dict[str, Any]:
    """The results with the settings that they are of."""
    described: Any = {"seed": seed, "config": {"k": ks, **settings}, "packages": ("numpy", "scipy")}
    return record(KIND, results=results, findings=findings, **described)


def _names(paths: Sequence[Path], labels: Path | None) -> list[str]:
    """What each file is called: its label, else as much of its path as tells it from the others."""
    names = distinct_names(paths)
    if labels is None:
        return names
    import yaml

    try:
        read = yaml.safe_load(labels.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise argument_error("labels", str(labels), f"YAML ({error})") from error
    if not isinstance(read, dict) or not all(isinstance(label, str) for label in read.values()):
        raise argument_error("labels", str(labels), "a label by name of file or folder")
    for name in read:
        choice("labels", name, sorted({*names, *(path.name for path in paths)}))
    pairs = zip(names, paths, strict=True)
    labelled = [read.get(name) or read.get(path.name) or name for name, path in pairs]
    if len({*labelled}) < len(labelled):
        raise argument_error("labels", labelled, "a label of its own for each file")
    return labelled


def show(console: Console, confrontation: Confrontation, everything: bool, printed_notes: set[str]) -> None:
    """Print the sentences, the notes not yet said, and Pass@k with what was asked for, or every table."""
    new = [note for note in confrontation.notes if note not in printed_notes]
    printed_notes.update(new)
    words = "\n".join([confrontation.summary(), *(f"Note: {note}." for note in new)])
    curves = curve_table(confrontation.curves, confrontation.run.name)
    _print(console, words, tables(confrontation) if everything else [curves, *requested(confrontation)])


def _print(console: Console, words: str, shown: Sequence[Table]) -> None:
    console.print(printable(words), markup=False, soft_wrap=True)
    for table in shown:
        console.print(table.rich())
