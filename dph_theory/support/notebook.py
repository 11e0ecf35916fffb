"""How a result shows itself: a few words as its repr, tables in a notebook, plain data, a data frame."""

import html
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .record import as_json
from .table import Table

_ROWS = 20
"""The most rows of a table that a notebook shows by itself."""


class Shown:
    """A result that says itself in a few lines (`summary`) and has its numbers as `tables`."""

    def summary(self) -> str:
        """What was found, in a few lines."""
        raise NotImplementedError

    def tables(self) -> Sequence[Table]:
        """The numbers, the most important first."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return dict(as_json(self))

    def to_dataframe(self) -> Any:
        """The first table as a pandas DataFrame, empty without one; ModuleNotFoundError without pandas."""
        return next(iter(self.tables()), Table((), ())).to_dataframe()

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in self.summary().splitlines())
        return lines + "".join(_first_rows(table).html() for table in self.tables())


def _first_rows(table: Table) -> Table:
    if len(table.rows) <= _ROWS:
        return table
    title = f"{table.title} (the first {_ROWS} of {len(table.rows)} rows)".strip()
    return replace(table, rows=table.rows[:_ROWS], title=title)
