"""What a paper takes of a figure: its drawing at the venue's size, its caption, its numbers."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dph_theory.support.files import write_text

from ..figure import Figure
from ..look.tables import command, latex
from ..look.venues import Venue
from . import drawings

_NUMBER = re.compile(r"(?<![\w@.*-])-?(?:\d+\.\d+|\.\d+|\d+)(?![\w*]|\.\d)")
"""A number that is no part of a name such as k3 or Pass@16."""


@dataclass(frozen=True)
class Wanted:
    """What is written of a figure: formats of the drawing in a folder; tables, if they have a folder."""

    formats: tuple[str, ...]
    folder: Path
    venue: Venue | None = None
    tables: Path | None = None


def write(figure: Figure[Any, Any], numbers: Mapping[str, Any], wanted: Wanted) -> Iterator[Path]:
    """Write a figure from its record, and give the files' paths as they are there."""
    drawing = figure.drawing(numbers, wanted.venue)
    about = f"{figure.title}; numbers sha256:{digest(numbers)}"
    yield from drawings.save(figure.name, drawing, wanted.formats, wanted.folder, about)
    caption = wanted.folder / f"{figure.name}.caption.tex"
    write_text(caption, rf"\caption{{\textbf{{{latex(figure.title)}.}} {latex(figure.caption)}}}" + "\n")
    yield caption
    if wanted.tables is not None:
        wanted.tables.mkdir(parents=True, exist_ok=True)
        table = figure.numbers_to_quote(numbers)
        for suffix, text in (("tex", table.latex()), ("csv", table.csv())):
            path = wanted.tables / f"{figure.name}.{suffix}"
            write_text(path, text)
            yield path


def digest(numbers: Mapping[str, Any]) -> str:
    """Changes with the configuration and the results of a record, and with nothing else."""
    drawn = json.dumps([numbers[part] for part in ("config", "results")], sort_keys=True)
    return hashlib.sha256(drawn.encode()).hexdigest()


def commands(figure: Figure[Any, Any], numbers: Mapping[str, Any]) -> str:
    r"""A \newcommand for every number of the figure's table, after the command that made them."""
    found = figure.numbers_to_quote(numbers).commands(f"dph {figure.name}")
    return _defined(f"dph figures {figure.name}", found)


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
