"""What a paper takes of a figure: its drawing at the venue's size, its caption, its numbers."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dph_theory.support.files import write_text

from ..figure import Figure
from ..look.tables import Table, command, latex
from ..look.venues import Venue
from . import drawings

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_NUMBER = re.compile(r"(?<![\w@.*-])-?(?:\d+\.\d+|\.\d+|\d+)(?![\w*]|\.\d)")
"""A number that is no part of a name such as k3 or Pass@16."""


@dataclass(frozen=True)
class Wanted:
    """What is written of a figure: formats of the drawing in a folder; tables, if they have a folder."""

    formats: tuple[str, ...]
    folder: Path
    venue: Venue | None = None
    tables: Path | None = None


@dataclass(frozen=True, eq=False)
class Piece:
    """What is printed: a drawing its title and caption, its numbers, a hash of what it is drawn from."""

    name: str
    title: str
    caption: str
    drawing: "Drawing"
    table: Table
    drawn_from: str


def piece(figure: Figure[Any, Any], numbers: Mapping[str, Any], venue: Venue | None = None) -> Piece:
    """A figure of the catalogue, from its record."""
    drawing, table = figure.drawing(numbers, venue), figure.numbers_to_quote(numbers)
    return Piece(
        figure.name, figure.title, figure.caption, drawing, table, f"numbers sha256:{digest(numbers)}"
    )


def write(made: Piece, wanted: Wanted) -> Iterator[Path]:
    """Write a drawing, its caption and its table, and give the files' paths as they are there."""
    about = f"{made.title}; {made.drawn_from}"
    yield from drawings.save(made.name, made.drawing, wanted.formats, wanted.folder, about)
    caption = wanted.folder / f"{made.name}.caption.tex"
    write_text(caption, rf"\caption{{\textbf{{{latex(made.title)}.}} {latex(made.caption)}}}" + "\n")
    yield caption
    if wanted.tables is not None:
        yield from write_table(made.name, made.table, wanted.tables)


def write_table(name: str, table: Table, folder: Path) -> Iterator[Path]:
    """Write a table as LaTeX and as CSV, and give the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, text in (("tex", table.latex()), ("csv", table.csv())):
        path = folder / f"{name}.{suffix}"
        write_text(path, text)
        yield path


def digest(numbers: Mapping[str, Any]) -> str:
    """Changes with the configuration and the results of a record, and with nothing else."""
    drawn = json.dumps([numbers[part] for part in ("config", "results")], sort_keys=True)
    return hashlib.sha256(drawn.encode()).hexdigest()


def commands(name: str, table: Table, made_by: str) -> str:
    r"""A \newcommand for every number of a figure's table, after the command that made them."""
    return _defined(made_by, table.commands(f"dph {name}"))


def commands_of_page(name: str, text: str) -> str:
    r"""A \newcommand for every number of a Markdown page.

    Those in tables are named after their row and column, those in sentences after their line.
    """
    found, head = [], None
    for number, line in enumerate(text.splitlines(), 1):
        cells = re.split(r"\s*\|\s*", line.strip("| ")) if line.startswith("|") else [line]
        head = None if len(cells) == 1 else head or cells
        columns = [f"line {number}"] if head is None else [f"{cells[0]} {column}" for column in head]
        for column, cell in zip(columns, cells, strict=False):
            values = _NUMBER.findall(cell)
            names = [
                f"{column} {place}" if len(values) > 1 else column for place in range(1, len(values) + 1)
            ]
            found += [(command(f"dph {name} {n}"), value) for n, value in zip(names, values, strict=True)]
    return _defined("dph figures, from the stored results", found)


def _defined(made_by: str, found: Iterable[tuple[str, str]]) -> str:
    lines = [rf"\newcommand{{\{name}}}{{{value}}}" for name, value in found]
    return "\n".join([f"% {made_by}", *lines, ""])
