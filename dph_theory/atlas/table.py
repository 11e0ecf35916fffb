"""The atlas as one table, a row a method."""

from collections.abc import Sequence

from ..support.table import Cell, Table
from .rows import Row

HEAD = (
    "method",
    "several lengths",
    "one decision",
    "other start",
    "drift",
    "way back",
    "wrong",
    "rare",
    "long",
    "source",
    "read",
)


def table(rows: Sequence[Row]) -> Table:
    """What is selected first, then what happens on the way; numbers as `Row` says."""
    return Table.of(HEAD, map(_cells, rows), "What each method selects, on right answers")


def _cells(row: Row) -> tuple[Cell, ...]:
    other = {True: "the same", False: "another end", None: None}[row.fixed]
    numbers = (row.wrong, row.rare, row.long)
    return (
        row.method,
        row.selects,
        row.selects_single,
        other,
        _short(row.drift),
        row.way_back,
        *map(_short, numbers),
        row.source,
        row.read,
    )


def _short(value: float | None) -> Cell:
    """Two digits, and nothing below a thousandth: the chains tell no more."""
    return None if value is None else "0" if abs(value) < 1e-3 else f"{value:.2g}"
