"""A table of results: names of columns, and rows of words and numbers."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

Cell: TypeAlias = str | float | None
"""A word, a number, or None for what is not known."""
DIGITS = 4


@dataclass(frozen=True)
class Table:
    """The columns' names and the rows, a cell a column."""

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @classmethod
    def of(cls, head: Iterable[str], rows: Iterable[Iterable[Cell]]) -> "Table":
        """The table of these rows."""
        return cls(tuple(head), tuple(tuple(row) for row in rows))


def written(cell: Cell) -> str:
    """A cell in words: numbers to DIGITS significant digits, a dash for None."""
    if cell is None:
        return "–"
    return cell if isinstance(cell, str) else f"{cell:.{DIGITS}g}"
