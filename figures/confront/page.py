"""The page of a confrontation, from the template that the report has."""

from dataclasses import dataclass
from typing import Any

from dph_theory.counts import Confrontation, five_lines
from dph_theory.support.frozen import as_json

from ..look.tables import Table
from ..report.page import templates
from ..results.drawings import rendered
from .sheet import sheet
from .tables import tables


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
        svg = rendered(sheet(found), "svg")
        return cls(f"run-{number}", found, five_lines(found), tables(found), svg, as_json(found, digits=6))


def page(found: list[Confrontation], record: str) -> str:
    """The whole document as text; `record` is the name of the JSON file beside it."""
    runs = [Confronted.of(number, one) for number, one in enumerate(found, start=1)]
    return templates().get_template("confront.html").render(runs=runs, record=record)
