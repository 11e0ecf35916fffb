"""`dph figures` draws from stored numbers; `dph reproduce` computes everything anew and makes the report."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from dph_theory.support import terminal
from dph_theory.support.files import write_text
from dph_theory.support.table import Table

from .style.venues import VENUES

if TYPE_CHECKING:
    from .figure import Figure
    from .files import Wanted

_FOLDER = terminal.OutputFolder()
_STYLES = {"done": "green", "reused": "cyan", "failed": "bold red"}


def _bars() -> terminal.Bars:
    """Bars that leave nothing behind, and are shown only on a terminal."""
    console = terminal.console(stderr=True)
    return terminal.Bars(on=console, hidden=not console.is_terminal, transient=True)


@click.command(name="figures", short_help="Draw the figures, from stored numbers or new ones.")
@click.argument("names", nargs=-1, metavar="[NAME ...]")
@click.option("--list", "listing", is_flag=True, help="List the figures and stop.")
@click.option("--recompute", is_flag=True, help="First compute the numbers anew, and experiments they need.")
@click.option(
    "--format", "form", default="pdf,png,svg", show_default=True, help="Comma-separated formats; also pgf."
)
@click.option(
    "--venue", type=click.Choice(tuple(VENUES)), help="Widths and fonts for a paper or slides there."
)
@click.option("--folder", type=_FOLDER, help="Where the drawings go. [default: figures/out; installed: out]")
@click.option(
    "--numbers",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the numbers are kept. [default: figures/numbers]",
)
@click.option("--tables", type=_FOLDER, help="Write each figure's table there, as LaTeX (booktabs) and CSV.")
@click.option(
    "--macros", type=terminal.OutputFile(), help="Write the tables' numbers as LaTeX commands there."
)
@terminal.seed
def figures_command(
    names: tuple[str, ...],
    listing: bool,
    recompute: bool,
    form: str,
    venue: str | None,
    folder: Path | None,
    numbers: Path | None,
    tables: Path | None,
    macros: Path | None,
    seed: int,
) -> None:
    """Draw the figures (or those NAMEd) from their stored numbers, each with its caption beside it.

    Exits 0 if all were drawn, 1 if not, 2 for wrong usage. Numbers whose computing fails stay as they were.
    """
    from . import files, records
    from .catalogue import NAMES, figure

    try:
        place, where = VENUES[venue] if venue else None, folder or _writable(files.OUT)
        wanted = files.Wanted(files.formats(form), where, place, tables)
        asked = {name: figure(name) for name in names or NAMES}
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if listing:
        terminal.console(highlight=False).print(_listing(asked).rich())
        return
    kept = numbers or (_writable(records.NUMBERS) if recompute else records.NUMBERS)
    try:
        failed = _recomputed(tuple(asked), kept, seed) if recompute else {}
        failed |= _written([name for name in asked if name not in failed], kept, wanted, macros)
    except KeyboardInterrupt:
        click.echo("interrupted: what was written before is whole")
        sys.exit(terminal.INTERRUPTED)
    for name, words in failed.items():
        click.echo(f"{name}: {words}", err=True)
    sys.exit(1 if failed else 0)


def _written(names: list[str], kept: Path, wanted: "Wanted", macros: Path | None) -> dict[str, str]:
    """Write what is wanted of each figure, and tell its path; what went wrong, by name.

    With all figures, the commands have the findings' numbers too.
    """
    from . import files
    from .catalogue import NAMES, figure
    from .report import guide

    failed, commands = {}, []
    for name in names:
        try:
            found = figure(name).stored(kept)
            made = files.piece(figure(name), found, wanted.venue)
            for path in files.write_piece(made, wanted):
                click.echo(path)
            commands.append(files.commands(name, made.table, f"dph figures {name}"))
        except ValueError as error:
            failed[name] = str(error)
    if macros is not None:
        if not failed and set(NAMES) <= set(names):
            commands.append(files.commands_of_page("readme", guide.in_short(guide.stored_records(kept))))
        write_text(macros, "\n".join(commands))
    return failed


def _writable(folder: Path) -> Path:
    """The package's folder in a checkout; installed, one of its name where the command is run."""
    return folder if (folder.parents[1] / "pyproject.toml").is_file() else Path(folder.name)


def _listing(asked: Mapping[str, "Figure[Any, Any]"]) -> Table:
    rows = ((name, ", ".join(one.needs) or "-", one.title) for name, one in asked.items())
    return Table.of(("figure", "experiments", "title"), rows)


def _recomputed(names: tuple[str, ...], kept: Path, seed: int) -> dict[str, str]:
    from . import files

    with _bars() as bars:
        return files.recompute(names, seed=seed, folder=kept, progress=bars)


@click.command(name="reproduce", short_help="Compute everything anew, and make the report.")
@click.option("--quick", is_flag=True, help="A reduced run: fewer instances, smaller experiments.")
@click.option(
    "--folder",
    type=_FOLDER,
    default=Path("report"),
    show_default=True,
    help="Where index.html and the results go.",
)
@click.option("--fresh", is_flag=True, help="Reuse nothing that an interrupted run has finished.")
@terminal.seed
def reproduce_command(quick: bool, folder: Path, fresh: bool, seed: int) -> None:
    """Verify, run the toy experiments, audit the catalogue, draw every figure, and make one page of it all.

    A stage that fails is named, and the others go on. After an interruption or a failure the same command
    takes up the stages that were finished. Exits 0 if every stage succeeded, 1 if not.
    """
    from .report.contents import StageEnd
    from .reproduce import Plan, Watch, reproduce

    if not folder.absolute().parent.is_dir():
        raise click.UsageError(f"--folder {folder}: the folder {folder.absolute().parent} does not exist")
    bars, console = _bars(), terminal.console(highlight=False)

    class Shown(Watch):
        started = bars.start
        progressed = bars.__call__

        def ended(self, outcome: StageEnd) -> None:
            bars.remove(outcome.stage)
            target = console if bars.hidden else bars.console
            target.print(_line(outcome.stage, outcome.state, outcome.seconds, outcome.words), soft_wrap=True)

    start = time.perf_counter()
    try:
        with bars:
            outcomes = reproduce(Plan(seed, quick, folder), fresh=fresh, watch=Shown())
    except KeyboardInterrupt:
        console.print("interrupted: the same command goes on from the stages that are finished")
        sys.exit(terminal.INTERRUPTED)
    failed = [outcome.stage for outcome in outcomes if outcome.failed]
    words = f"{len(outcomes)} stages in {time.perf_counter() - start:.0f} s, "
    words += f"{len(failed)} failed: {', '.join(failed)}" if failed else "none failed"
    terminal.say(console, f"{folder / 'index.html'}: {words}")
    sys.exit(1 if failed else 0)


def _line(stage: str, state: str, seconds: float, words: str) -> str:
    return f"{stage:<28} [{_STYLES[state]}]{state:<6}[/] {seconds:6.1f} s  {escape(words)}"
