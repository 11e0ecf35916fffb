"""`dph toy`: the exact experiments, each with its progress, findings, methods and figures."""

import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dph_theory.support import terminal
from dph_theory.support.files import STANDARD_OUTPUT, write_json
from dph_theory.support.table import Table

from .experiments import NAMES, ToyExperiment

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

_FILE = terminal.OutputFile()
_FOLDER = terminal.OutputFolder()

_quick = click.option("--quick", is_flag=True, help="A reduced run.")
_json = click.option("--json", "path", type=_FILE, help="File of the record.")
_folder = click.option(
    "--folder",
    type=_FOLDER,
    help="Folder of finished runs, from which a run goes on. An interrupt lets the runs under way finish.",
)


def _names(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(name.strip() for name in value.split(",") if name.strip())


def _problem(context: click.Context, parameter: click.Parameter, value: Path | None) -> Any:
    if value is None:
        return None
    from .collapse.case import read_problem

    try:
        return read_problem(value)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


OPTIONS = {
    "folder": _folder,
    "problem": click.option(
        "--problem",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        callback=_problem,
        metavar="FILE.toml",
        help="Problem of your own: alphabet, length, initial, transition, and a pattern or a function of the "
        "correct words.",
    ),
    "methods": click.option(
        "--methods",
        callback=_names,
        metavar="NAME,...",
        help="Methods; DPH:MODULE:OBJECT is DPH with a divergence of your own. [default: all]",
    ),
    "seeds": click.option("--seeds", type=click.IntRange(min=1), help="Number of seeds."),
}
"""Options of an experiment: its run's `folder` and `problem`, and fields of its configuration."""


@click.group(short_help="Exact toy models: collapse, and what prevents it.")
def toy() -> None:
    """Exact toy models: why training with binary rewards collapses, and what prevents it."""


def _command(name: str) -> click.Command:
    def run(path: Path | None, seed: int, quick: bool, **given: Any) -> None:
        _run_one(name, path, seed, quick, {key: value for key, value in given.items() if value is not None})

    package = ToyExperiment(name).package
    for option in (*map(OPTIONS.__getitem__, reversed(package.OPTIONS)), _quick, terminal.seed, _json):
        run = option(run)
    summary, _, rest = (package.__doc__ or "").partition("\n\n")
    words = f"{summary}\n\n{rest.partition('Entries:')[0]}"
    return click.command(name, short_help=summary, help=words, epilog=f"Example: dph toy {name} --quick")(run)


for _name in NAMES:
    toy.add_command(_command(_name))


def _run_one(name: str, path: Path | None, seed: int, quick: bool, given: dict[str, Any]) -> None:
    """Run an experiment, write its record, print its findings and tables; exit 130 if interrupted."""
    folder = given.get("folder")
    if folder is not None and not folder.parent.is_dir():
        raise click.UsageError(f"--folder {folder}: the folder {folder.parent} does not exist")
    chosen = ToyExperiment(name)
    inputs = {key: given[key] for key in ("folder", "problem") if key in given}
    try:
        config = chosen.configuration.quick() if quick else chosen.configuration()
        config = replace(config, **{key: value for key, value in given.items() if key not in inputs})
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    try:
        with terminal.Bars(prefix=f"{name}: ") as bars:
            record = chosen.run(config, seed=seed, progress=bars, **inputs)
        if path is not None:
            write_json(path, record)
    except ValueError as error:
        if not inputs:
            raise
        # The arguments may be at fault: a folder of another configuration, a problem without an answer.
        raise click.UsageError(str(error)) from error
    except KeyboardInterrupt:
        left = f"finished runs are stored in {folder}: the same command goes on from them"
        terminal.say(terminal.console(), f"interrupted: {left if folder else 'nothing was written'}")
        sys.exit(terminal.INTERRUPTED)
    _print(chosen, record, terminal.console(stderr=path == STANDARD_OUTPUT))


def _fitting(table: Table, width: int) -> "RichTable":
    """Table for the console, without frames if it is wider than `width`; no number is cut off."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console

    framed = table.rich()
    if framed.__rich_measure__(Console(width=1000), Console(width=1000).options).maximum <= width:
        return framed
    narrow = table.rich(box=SIMPLE_HEAD, padding=0, show_edge=False)
    for column in narrow.columns:
        column.overflow = "fold"
    return narrow


def _print(chosen: ToyExperiment, record: dict[str, Any], console: "Console") -> None:
    """Print findings and tables of a record, and the command for its figures."""
    for sentence in record["findings"]:
        terminal.say(console, textwrap.fill(sentence, console.width, break_on_hyphens=False))
    for table in chosen.tables(record):
        console.print(_fitting(table, console.width))
    if figures := chosen.package.FIGURES:
        terminal.say(console, f"Next: dph figures {' '.join(figures)} --tables out  # of the stored runs")
