"""`dph watch` and `dph publish`: a training's curves, and what becomes of its model."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
from rich.live import Live
from rich.table import Table

from dph_theory.support import terminal

from ..recipe.folders import Folders
from .metrics import read_metrics
from .watch import HEADERS, curves, draw, table_rows

SECONDS = 2.0
"""Between two looks at the file."""
_NAMES = 60
"""Columns of the terminal that names and numbers take."""


@click.command(name="watch", short_help="Draw a training's curves in the terminal or to a file.")
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="RUN")
@click.option("--curve", "names", multiple=True, help="What to show, as logged; may be given several times.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Draw to this PNG, SVG or PDF.")
@click.option("--once", is_flag=True, help="Show what there is and end, also while the training runs.")
def watch_command(run: Path, names: Sequence[str], out: Path | None, once: bool) -> None:
    """Show the curves of the run in a folder until it is finished."""
    console = terminal.console()
    try:
        if out is not None:
            draw(_curves(run, names), out)
        if out is not None or once or not console.is_terminal:
            console.print(_table(run, names, console.width))
            return
        with Live(_table(run, names, console.width), console=console, auto_refresh=False) as live:
            while not Folders.at(run).training.is_file():
                time.sleep(SECONDS)
                live.update(_table(run, names, console.width), refresh=True)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        sys.exit(terminal.INTERRUPTED)


@click.command(name="publish", short_help="A trained model with its card in a folder, or on the Hub.")
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="RUN")
@click.option("--out", required=True, type=terminal.OutputFolder(), help="A new folder.")
@click.option("--merge", is_flag=True, help="Merge an adapter into its base.")
@click.option("--push", "name", metavar="OWNER/NAME", help="Send the folder to this repository of the Hub.")
@click.option("--public", is_flag=True, help="Make the repository public; else it is private.")
def publish_command(run: Path, out: Path, merge: bool, name: str | None, public: bool) -> None:
    """Copy or merge the model of a finished run, and write its card from the run's records."""
    from .publish import publish, push

    try:
        publish(run, out, merge=merge)
        address = push(out, name, private=not public) if name else str(out)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    terminal.say(terminal.console(), address)


def _curves(run: Path, names: Sequence[str]) -> dict[str, list[tuple[int, float]]]:
    path = Folders.at(run).metrics
    rows = read_metrics(path)
    if not rows:
        raise click.ClickException(f"{path} has no line yet: dph train writes one a step")
    return curves(rows, names)


def _table(run: Path, names: Sequence[str], width: int) -> Table:
    found = _curves(run, names)
    steps = max(points[-1][0] for points in found.values())
    shown = Table(*HEADERS, title=f"{run.name}, step {steps}", pad_edge=False)
    for row in table_rows(found, max(10, width - _NAMES)):
        shown.add_row(*row)
    return shown
