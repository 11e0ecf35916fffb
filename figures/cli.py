"""`dph figures` draws from stored numbers; `dph reproduce` recomputes everything and writes the report."""

import sys
import time
from pathlib import Path

import click
from rich.markup import escape

from dph_theory.support import terminal
from dph_theory.support.files import STANDARD_OUTPUT, write_text

from .venues import SCREEN, TITLES, VENUES, WIDTHS

_FOLDER = terminal.OutputFolder()
_STYLES = {"done": "green", "reused": "cyan", "failed": "bold red"}


@click.command(name="figures", short_help="Draw the figures from stored numbers.")
@click.argument("names", nargs=-1, metavar="[NAME ...]")
@click.option("--list", "listing", is_flag=True, help="List the figures and stop.")
@click.option(
    "--format", "form", default="pdf,png,svg", show_default=True, help="Formats, with commas between."
)
@click.option(
    "--venue", type=click.Choice(tuple(VENUES)), help="Venue of a paper or slides: widths and fonts."
)
@click.option(
    "--width", type=click.Choice(WIDTHS), default="text", show_default=True, help="Page or column width."
)
@click.option(
    "--title",
    type=click.Choice(TITLES),
    help="Title in the picture: its finding, the panels' or none. [default: finding; for a venue panels]",
)
@click.option("--to", "folder", type=_FOLDER, help="Folder of the drawings. [default: figures/out or out]")
@click.option(
    "--numbers",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the records. [default: figures/numbers]",
)
@click.option(
    "--tables", type=_FOLDER, help="Folder of the tables, as LaTeX (booktabs) and CSV; - prints them alone."
)
@click.option("--macros", type=terminal.OutputFile(), help="File of the numbers to quote, as LaTeX commands.")
def figures_command(
    names: tuple[str, ...],
    listing: bool,
    form: str,
    venue: str | None,
    width: str,
    title: str | None,
    folder: Path | None,
    numbers: Path | None,
    tables: Path | None,
    macros: Path | None,
) -> None:
    """Draw the figures (or those NAMEd) from the stored records, each with its caption beside it.

    Exits 0 if all were drawn, 1 if not, 2 for wrong usage. `dph reproduce` recomputes the records.
    """
    from . import files
    from .catalogue import NAMES, figure
    from .frames import NUMBERS, Records
    from .style import Sheet

    try:
        forms, out = files.formats(form), folder or _writable(files.OUT)
        figures = {name: figure(name) for name in names or NAMES}
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if listing:
        lines = [f"{one.name} ({', '.join(one.needs) or 'theory'}): {one.title}" for one in figures.values()]
        terminal.console(highlight=False).print("\n".join(lines), markup=False)
        return
    failed: dict[str, str] = {}
    records, in_picture = Records(numbers or NUMBERS), title or ("panels" if venue else "finding")
    try:
        for name, one in figures.items():
            try:
                sheet = Sheet(VENUES[venue] if venue else SCREEN, width, in_picture)
                if tables == STANDARD_OUTPUT:
                    click.echo(f"{one.title}\n\n{one.table(one.numbers(records)).markdown()}\n")
                else:
                    for path in files.write_figure(one, records, sheet, forms, out, tables):
                        click.echo(path)
            except ValueError as error:
                failed[name] = str(error)
        if macros is not None:
            _write_macros(macros, files.macros([name for name in figures if name not in failed], records))
    except KeyboardInterrupt:
        click.echo("interrupted: files written before are complete")
        sys.exit(terminal.INTERRUPTED)
    for name, words in failed.items():
        click.echo(f"{name}: {words}", err=True)
    sys.exit(1 if failed else 0)


def _write_macros(path: Path, text: str) -> None:
    write_text(path, text)
    if "newcommand" not in text:
        click.echo(f"{path}: no macros, because none of these figures quotes a number", err=True)


def _writable(folder: Path) -> Path:
    """Folder of the package in a checkout; if installed, a folder of its name in the working directory."""
    return folder if (folder.parents[1] / "pyproject.toml").is_file() else Path(folder.name)


@click.command(name="reproduce", short_help="Recompute everything, and write the report.")
@click.option("--quick", is_flag=True, help="A reduced run: fewer test cases, smaller experiments.")
@click.option(
    "--to",
    "folder",
    type=_FOLDER,
    default=Path("report"),
    show_default=True,
    help="Folder of index.html and the results.",
)
@click.option("--fresh", is_flag=True, help="Reuse nothing that an interrupted run has finished.")
@terminal.seed
def reproduce_command(quick: bool, folder: Path, fresh: bool, seed: int) -> None:
    """Verify, run the toy experiments, audit the catalogue, draw every figure, and make one page of it all.

    A failed stage is named, and the others go on. After an interruption or a failure, the same command
    resumes after the finished stages. Exits 0 if every stage succeeded, 1 if not.
    """
    from .report import StageEnd
    from .reproduce import Plan, reproduce

    if not folder.absolute().parent.is_dir():
        raise click.UsageError(f"--to {folder}: the folder {folder.absolute().parent} does not exist")
    console = terminal.console(stderr=True)
    # Bars leave nothing behind, and are shown only on a terminal.
    bars = terminal.Bars(on=console, hidden=not console.is_terminal, transient=True)
    console = terminal.console(highlight=False)

    def ended(outcome: StageEnd) -> None:
        bars.remove(outcome.stage)
        line = f"{outcome.stage:<28} [{_STYLES[outcome.state]}]{outcome.state:<6}[/] {outcome.seconds:6.1f} s"
        target = console if bars.disable else bars.console
        target.print(f"{line}  {escape(outcome.words)}", soft_wrap=True)

    start = time.perf_counter()
    try:
        with bars:
            outcomes = reproduce(Plan(seed, quick, folder), fresh=fresh, progress=bars, ended=ended)
    except KeyboardInterrupt:
        console.print("interrupted: the same command resumes after the finished stages")
        sys.exit(terminal.INTERRUPTED)
    failed = [outcome.stage for outcome in outcomes if outcome.failed]
    words = f"{len(outcomes)} stages in {time.perf_counter() - start:.0f} s, "
    words += f"{len(failed)} failed: {', '.join(failed)}" if failed else "none failed"
    terminal.say(console, f"{folder / 'index.html'}: {words}")
    sys.exit(1 if failed else 0)
