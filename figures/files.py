"""What is written: numbers and records computed anew, drawings as files, and what a paper takes of them."""

import hashlib
import json
import logging
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

from dph_theory.support.errors import argument_error
from dph_theory.support.files import FORMATS, write_bytes, write_text
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import as_json
from dph_theory.support.table import Table, command, latex
from toy_lm.experiments import EXPERIMENTS, RESUMABLE, experiment

from . import records
from .catalogue import figure
from .figure import Figure
from .records import stored_name
from .style.theme import look
from .style.venues import Venue

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


DIGITS = 10
"""Significant digits of the numbers that are stored."""


def run_experiment(
    name: str,
    *,
    seed: int = 0,
    quick: bool = False,
    folder: Path = records.NUMBERS,
    progress: Progress | None = None,
    resume: Path | None = None,
) -> dict[str, Any]:
    """Run an experiment of `toy_lm` and store its record.

    With `resume`, a folder, the experiment that is RESUMABLE takes up the finished runs that lie there.
    """
    package = experiment(name)
    config = package.Config.quick() if quick else package.Config()
    options = {"folder": resume} if resume is not None and name == RESUMABLE else {}
    made: dict[str, Any] = package.run(config, seed=seed, progress=progress, **options)
    records.save(stored_name(name, quick), as_json(made, DIGITS), folder)
    return made


OUT = Path(__file__).parent / "out"
"""Where drawings go if nothing else is said."""
_UNDATED: dict[str, dict[str, str | None]] = {
    "pdf": {"CreationDate": None},
    "png": {"Software": None},
    "svg": {"Date": None},
}


_PLACES = re.compile(rb'(?<= )(?:d|x|y)="[^"]*"|translate\([^)]*\)')
_DECIMALS = re.compile(rb"-?\d+\.\d{3,}")
_BETWEEN = re.compile(rb">\s+<(?!g id)")
"""Where an SVG has coordinates, those with more decimals than can be seen, and space between its tags."""
_CLIP = re.compile(rb'(?<=["#])p[0-9a-f]{10}(?=[")])')
"""The names of an SVG's clips, made of all digits of their place: the layout does not settle the last one."""


_GROUP, _MATHDEFAULT = b"\\begingroup%\n", b"\\providecommand{\\mathdefault}[1]{#1}%\n"
"""How a PGF drawing begins, and a command that its numbers use and only matplotlib's own preamble has."""
_SET = re.compile(rb"(?<=\\def%\{\\%\}).*?(?=\}\}%\n)")
"""The words that a PGF drawing sets."""


def formats(text: str) -> tuple[str, ...]:
    """The formats of a comma-separated list; ValueError says which there are."""
    chosen = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not chosen or not set(chosen) <= set(FORMATS):
        raise argument_error("format", text, f"one or more of {', '.join(FORMATS)}, with commas between")
    tex = mpl.rcParams["pgf.texsystem"]
    if "pgf" in chosen and shutil.which(tex) is None:
        raise argument_error("format", "pgf", f"only where {tex} is installed, which measures its words")
    return chosen


def rendered(drawing: "Drawing", form: str, subject: str | None = None) -> bytes:
    """A drawing in one of the FORMATS; a PDF says in its metadata what its subject is."""
    buffer = BytesIO()
    # Its fonts have no date either, which the library that embeds them finds worth a warning.
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    # Fonts, resolution and the ids of an SVG are settled as it is written, not as it is drawn.
    with look():
        about: dict[str, str | None] = {"Subject": subject} if form == "pdf" and subject else {}
        # LaTeX has no metadata for a part of a document.
        known: dict[str, Any] = {} if form == "pgf" else {"metadata": _UNDATED[form] | about}
        drawing.savefig(buffer, format=form, **known)
    made = buffer.getvalue()
    if form == "pgf":
        return for_any_document(made)
    return _settled(made) if form == "svg" else made


def _settled(svg: bytes) -> bytes:
    """An SVG without what cannot be seen: further decimals, space between tags, a place in names."""
    clips: dict[bytes, bytes] = {}
    named = _CLIP.sub(lambda clip: clips.setdefault(clip.group(), b"clip%d" % len(clips)), svg)
    return _BETWEEN.sub(b"><", _PLACES.sub(_shorter, named))


def for_any_document(pgf: bytes) -> bytes:
    """A PGF drawing that needs no preamble but the package pgf: underscores in words are escaped."""
    return _SET.sub(_escaped, pgf.replace(_GROUP, _GROUP + _MATHDEFAULT, 1))


def _escaped(words: re.Match[bytes]) -> bytes:
    """Words with their underscores escaped, those in formulas left as they are."""
    parts = re.split(rb"(?<!\\)\$", words.group())
    return b"$".join(part if i % 2 else re.sub(rb"(?<!\\)_", rb"\\_", part) for i, part in enumerate(parts))


def _shorter(place: re.Match[bytes]) -> bytes:
    """Coordinates to a hundredth of a point, on one line."""
    rounded = _DECIMALS.sub(lambda number: f"{float(number.group()):.2f}".encode(), place.group())
    return b" ".join(rounded.split())


def save_drawing(
    name: str, drawing: "Drawing", chosen: tuple[str, ...], folder: Path = OUT, subject: str | None = None
) -> list[Path]:
    """Write a drawing under its name in each of the chosen formats; `subject` as in `rendered`."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{form}" for form in chosen]
    for path, form in zip(paths, chosen, strict=True):
        write_bytes(path, rendered(drawing, form, subject))
    return paths


def recompute(
    names: Sequence[str], *, seed: int = 0, folder: Path = records.NUMBERS, progress: Progress = silent
) -> dict[str, str]:
    """Run the experiments that these figures need, compute the figures' numbers, and store them all.

    Returns what went wrong, by name; what failed leaves the numbers that were there, and the others go on.
    """
    failed: dict[str, str] = {}
    for needed in EXPERIMENTS:
        if any(needed in figure(name).needs for name in names):
            try:
                run_experiment(needed, seed=seed, folder=folder, progress=partial(_staged, progress, needed))
            except Exception as error:
                failed[f"toy.{needed}"] = f"{type(error).__name__}: {error}"
    records.with_full_scale((needed for name in names for needed in figure(name).needs), folder)
    for done, name in enumerate(names):
        progress("numbers", done, len(names))
        missing = [kind for kind in map("toy.{}".format, figure(name).needs) if kind in failed]
        if missing:
            failed[name] = f"it needs {', '.join(missing)}, which failed"
            continue
        try:
            made = figure(name).numbers(seed=seed, folder=folder)
            if not figure(name).needs:
                records.save(name, made, folder)
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"
    progress("numbers", len(names), len(names))
    return failed


def _staged(progress: Progress, what: str, stage: str, done: int, total: int) -> None:
    """An experiment's own stages are parts of one bar."""
    progress(what, done, total)


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


def write_piece(made: Piece, wanted: Wanted) -> Iterator[Path]:
    """Write a drawing, its caption and its table, and give the files' paths as they are there."""
    about = f"{made.title}; {made.drawn_from}"
    yield from save_drawing(made.name, made.drawing, wanted.formats, wanted.folder, about)
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
