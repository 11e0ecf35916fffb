"""`dph toy`: the exact experiments, each with its progress, its findings, its methods and its figures."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from dph_theory.support import terminal
from dph_theory.support.files import STANDARD_OUTPUT, write_json
from dph_theory.support.table import Table

from .experiments import EXPERIMENTS, FIGURES, RESUMABLE, experiment

_FILE = terminal.OutputFile()
_FOLDER = terminal.OutputFolder()

_quick = click.option("--quick", is_flag=True, help="A reduced run.")
_json = click.option("--json", "path", type=_FILE, help="Write the record there.")
_folder = click.option(
    "--folder",
    "folder",
    type=_FOLDER,
    help=f"Keep finished runs of {RESUMABLE} there, and take up those that are there already. "
    "An interrupt lets the runs under way finish.",
)


@click.group(short_help="Exact toy models: collapse, and what prevents it.")
def toy() -> None:
    """Exact toy models: why training with binary rewards collapses, and what prevents it."""


@toy.command(short_help="Restricted families: where optima collapse.")
@_json
@terminal.seed
@_quick
@click.option(
    "--problem",
    "source",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE.toml",
    help="Your own: alphabet, length, initial, transition, and a pattern or function for what is valid.",
)
def collapse(path: Path | None, seed: int, quick: bool, source: Path | None) -> None:
    """Collapse of restricted model families: global optima of KL control, and mass-covering fits."""
    problem = None
    if source is not None:
        from .collapse.case import read_problem

        try:
            problem = read_problem(source)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    _run_one("collapse", path, seed, quick, problem=problem)


@toy.command(short_help="Pass@1 up, Pass@k down, and what prevents it.")
@_json
@terminal.seed
@_quick
def strategies(path: Path | None, seed: int, quick: bool) -> None:
    """Pass@1 up, Pass@k down: strategies that prompt types share, and penalties that keep them."""
    _run_one("strategies", path, seed, quick)


@toy.command(short_help="A tiny transformer, every method, its styles.")
@_json
@terminal.seed
@_quick
@click.option("--methods", metavar="NAME,...", help="Only these methods. [default: all]")
@click.option("--seeds", type=click.IntRange(min=1), help="How many seeds to train.")
@_folder
def styles(
    path: Path | None, seed: int, quick: bool, methods: str | None, seeds: int | None, folder: Path | None
) -> None:
    """A tiny transformer trained for real: which losses keep its styles of answering."""
    changes: dict[str, Any] = {} if seeds is None else {"seeds": seeds}
    if methods is not None:
        changes["methods"] = tuple(name.strip() for name in methods.split(",") if name.strip())
    _run_one("styles", path, seed, quick, changes, folder)


@toy.command(short_help="Filtering locally against filtering: how far apart.")
@_json
@terminal.seed
@_quick
def filtering(path: Path | None, seed: int, quick: bool) -> None:
    """How far the locally filtered model is from the filtered one, on three grammars; exact, in nats."""
    from .filtering import GRAMMARS, MEASURES, distances

    measured = [distances(name, seed=seed, bases=2 if quick else 5) for name in GRAMMARS]
    if path is not None:
        write_json(path, {"seed": seed, "rows": measured})
    headers = ("grammar", "length", "-log A1", "KL(loc||a)", "KL(loc||p_*)", "KL(p_*||loc)")
    rows = [
        (row["grammar"], str(row["length"]), *(f"{row[name]:.3f}" for name in MEASURES)) for row in measured
    ]
    terminal.console(stderr=path == STANDARD_OUTPUT).print(Table.from_rows(headers, rows).rich())


@toy.command(name="all")
@click.option("--json", "path", type=_FOLDER, help="Write the records there, a file an experiment.")
@terminal.seed
@_quick
@_folder
def all_of_them(path: Path | None, seed: int, quick: bool, folder: Path | None) -> None:
    """All experiments, one after the other."""
    _check_parent("--json", path)
    if path is not None:
        path.mkdir(exist_ok=True)
    written: list[Path] = []
    for name in EXPERIMENTS:
        target = None if path is None else path / f"{name}.json"
        terminal.console().rule(name)
        _run_one(name, target, seed, quick, folder=folder if name == RESUMABLE else None, earlier=written)
        written += [] if target is None else [target]


def _run_one(
    name: str,
    path: Path | None,
    seed: int,
    quick: bool,
    changes: dict[str, Any] | None = None,
    folder: Path | None = None,
    earlier: list[Path] | None = None,
    problem: Any = None,
) -> None:
    """Run an experiment, write its record, print its findings and tables; exit 130 if interrupted."""
    _check_parent("--folder", folder)
    chosen = experiment(name)
    try:
        config = chosen.configuration.quick() if quick else chosen.configuration()
        config = replace(config, **(changes or {}))
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    try:
        inputs = {"folder": folder, "problem": problem}
        inputs = {name: value for name, value in inputs.items() if value is not None}
        with terminal.Bars(prefix=f"{name}: ") as bars:
            record = chosen.run(config, seed=seed, progress=bars, **inputs)
        if path is not None:
            write_json(path, record)
    except ValueError as error:
        if not inputs:
            raise
        # What was given may be at fault: a folder of another configuration, a problem without an answer.
        raise click.UsageError(str(error)) from error
    except KeyboardInterrupt:
        terminal.say(terminal.console(), _written(earlier or [], folder))
        sys.exit(terminal.INTERRUPTED)
    console = terminal.console(stderr=path == STANDARD_OUTPUT)
    for sentence in record["findings"]:
        terminal.say(console, sentence)
    for table in chosen.tables(record):
        console.print(table.rich())
    terminal.say(console, f"Next: dph figures {' '.join(FIGURES[name])} --tables out (of the stored runs)")


def _written(written: list[Path], folder: Path | None) -> str:
    """What an interrupted run leaves behind."""
    parts = [f"wrote {', '.join(map(str, written))}"] if written else []
    if folder is not None:
        parts.append(f"finished runs are kept in {folder}: the same command goes on from them")
    return f"interrupted: {'; '.join(parts) or 'nothing was written'}"


def _check_parent(option: str, path: Path | None) -> None:
    if path is not None and not path.parent.is_dir():
        raise click.UsageError(f"{option} {path}: the folder {path.parent} does not exist")
