"""Output files: drawings, captions, tables and macros for a paper."""

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dph_theory.support.errors import argument_error
from dph_theory.support.files import FORMATS, write_bytes, write_text

from .catalogue import Figure, figure
from .frames import Records
from .latex import command, sentence, tabular
from .style import Sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

OUT = Path(__file__).parent / "out"  # Default folder of drawings.


def formats(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list of formats; ValueError lists the known formats."""
    chosen = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not chosen or not set(chosen) <= set(FORMATS):
        raise argument_error("format", text, f"one or more of {', '.join(FORMATS)}, with commas between")
    return chosen


def rendered(drawing: "Drawing", form: str, sheet: Sheet | None = None, subject: str = "") -> bytes:
    """Render a drawing in one of the FORMATS; a PDF has the subject in its metadata."""
    undated = {"pdf": {"CreationDate": None, "Subject": subject}, "png": {"Software": None}}
    undated |= {"svg": {"Date": None}}
    buffer = BytesIO()
    # Embedded fonts have no date either, about which the font library warns needlessly.
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    # Fonts and resolution are decided when the file is written, not when the figure is drawn.
    with (sheet or Sheet()).look():
        drawing.savefig(buffer, format=form, metadata=undated[form])
    return buffer.getvalue()


def write_figure(
    drawn: Figure, records: Records, sheet: Sheet, forms: tuple[str, ...], folder: Path, tables: Path | None
) -> Iterator[Path]:
    """Write a drawing, its caption and, given a folder for it, its table; yields the paths."""
    numbers = drawn.numbers(records)
    drawing, about = drawn.drawing(numbers, sheet), f"{drawn.title}; {drawn_from(drawn, records)}"
    folder.mkdir(parents=True, exist_ok=True)
    for form in forms:
        path = folder / f"{drawn.name}.{form}"
        write_bytes(path, rendered(drawing, form, sheet, about))
        yield path
    path = folder / f"{drawn.name}.caption.tex"
    write_text(path, rf"\caption{{\textbf{{{sentence(drawn.title)}.}} {sentence(drawn.caption)}}}" + "\n")
    yield path
    if tables is not None:
        tables.mkdir(parents=True, exist_ok=True)
        table = drawn.table(numbers)
        for suffix, text in (("tex", tabular(table)), ("csv", table.csv())):
            path = tables / f"{drawn.name}.{suffix}"
            write_text(path, text)
            yield path


def drawn_from(drawn: Figure, records: Records) -> str:
    """Names of the records behind a figure with a hash of each, or a note that it is computed when drawn."""
    hashes = (f"{name} sha256:{digest(records.record(name))}" for name in drawn.needs)
    return ", ".join(hashes) or f"computed as it was drawn, {date.today()}"


def digest(record: Mapping[str, Any]) -> str:
    """Hash of a record's configuration and results, and of nothing else."""
    contents = json.dumps([record["config"], record["results"]], sort_keys=True)
    return hashlib.sha256(contents.encode()).hexdigest()


def macros(names: list[str], records: Records) -> str:
    r"""Write a \newcommand for each number that the figures quote, named after figure and number."""
    lines = ["% dph figures, from the stored results"]
    for name in names:
        drawn = figure(name)
        for words, value in drawn.quotes(drawn.numbers(records)).items():
            short = value if isinstance(value, str) else f"{value:.3g}"
            lines.append(rf"\newcommand{{\{command(f'{name} {words}')}}}{{{sentence(short)}}}")
    return "\n".join([*lines, ""])
