"""What a paper takes of a figure: its drawing at the venue's size, its caption, its numbers."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dph_theory.support.files import write_text

from ..figure import Figure
from ..look.tables import latex
from ..look.venues import Venue
from . import drawings


@dataclass(frozen=True, kw_only=True)
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
    made = figure.numbers_to_quote(numbers).commands(f"dph {figure.name}")
    lines = [rf"\newcommand{{\{name[0].lower()}{name[1:]}}}{{{value}}}" for name, value in made]
    return "\n".join([f"% dph figures {figure.name}", *lines, ""])
