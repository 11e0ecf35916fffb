"""Display of a result: a few words as its repr, tables in a notebook, plain data, a data frame."""

import html
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .record import as_json
from .table import Table

_ROWS = 20  # Maximal number of rows that a notebook shows.


class Shown:
    """Base of results that summarise themselves in a few lines and have their numbers as `tables`."""

    def summary(self) -> str:
        """Summarise the result in a few lines."""
        raise NotImplementedError

    def tables(self) -> Sequence[Table]:
        """Tables of the numbers, the most important first."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """Convert everything to plain data."""
        return dict(as_json(self))

    def to_dataframe(self) -> Any:
        """First table as a pandas DataFrame, empty without one; ModuleNotFoundError without pandas."""
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
