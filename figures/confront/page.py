"""The folder of a confrontation: its record, a sheet of figures for each run, and the page of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dph_theory.counts import Confrontation, Together, five_lines, tables
from dph_theory.counts.cli import KIND
from dph_theory.support.files import write_json, write_text
from dph_theory.support.record import as_json
from dph_theory.support.table import Table

from .. import files
from ..report.page import templates
from .sheet import sheet, together_sheet


@dataclass(frozen=True)
class Confronted:
    """One run's part of the page."""

    key: str
    found: Confrontation
    lines: tuple[str, ...]
    tables: list[Table]
    svg: bytes
    record: Any

    @classmethod
    def of(cls, number: int, found: Confrontation) -> "Confronted":
        """The words, tables and drawing of a run."""
        svg = files.rendered(sheet(found), "svg")
        return cls(f"run-{number}", found, five_lines(found), tables(found), svg, as_json(found, digits=6))


def page(found: list[Confrontation], record: str, several: Together | None = None) -> str:
    """The whole document as text; `record` is the name of the JSON file beside it."""
    runs = [Confronted.of(number, one) for number, one in enumerate(found, start=1)]
    svg = None if several is None else files.rendered(together_sheet(several), "svg")
    return (
        templates()
        .get_template("confront.html")
        .render(runs=runs, record=record, several=several, several_svg=svg)
    )


def write_folder(
    folder: Path,
    found: Sequence[Confrontation],
    several: Together | None,
    stored: Mapping[str, Any],
    form: str,
) -> list[Path]:
    """Write the record, a sheet for each run and for all together, and the page; gives their paths."""
    chosen = files.formats(form)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / f"{KIND}.json", stored)
    paths = [folder / f"{KIND}.json"]
    for number, one in enumerate(found, start=1):
        paths += files.save_drawing(f"{KIND}-{number}", sheet(one), chosen, folder)
    if several is not None:
        paths += files.save_drawing(f"{KIND}-together", together_sheet(several), chosen, folder)
    write_text(folder / "index.html", page(list(found), f"{KIND}.json", several))
    return [*paths, folder / "index.html"]
