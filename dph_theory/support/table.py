"""Table of results, rows of words and numbers, for a terminal, Markdown, HTML and CSV.

LaTeX is written by `figures.latex`.
"""

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape as html_escape
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from rich.table import Table as RichTable


T = TypeVar("T")


@dataclass(frozen=True)
class Interval(Generic[T]):
    """A number, or an array of numbers, with its confidence interval [low, high] and the method behind it."""

    value: T
    low: T
    high: T
    method: str = field(default="", kw_only=True)

    def __iter__(self) -> Iterator[T]:
        return iter((self.value, self.low, self.high))

    def __repr__(self) -> str:
        from .record import readable  # Importing this loads numpy.

        return readable(self)

    def __str__(self) -> str:
        """Format as in 0.25 [0.2, 0.3]."""
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"


Estimate: TypeAlias = Interval[float]  # A number with its confidence interval.
Cell: TypeAlias = str | float | Estimate | None
"""Text, a number with or without its interval, or None if unknown."""
DIGITS = 4  # Significant digits of a number in a cell.
_FORMULA = re.compile(r"[=@\t\r]|[+-](?!(?:(?:[\d.]+(?:e[+-]?\d+)?)?|inf|nan)$)")


def printable(text: str) -> str:
    """Replace unprintable characters by their escapes, so that no terminal interprets them."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def escaped(text: str) -> str:
    """Escape text so that Markdown shows it unchanged, also inside a table, where a line cannot end."""
    return re.sub(r"([\\`*_|<])", r"\\\1", " ".join(text.splitlines()))


@dataclass(frozen=True)
class Table:
    """Column names and rows, one cell per column; a title for use beside other tables.

    More is better in the columns named in `best`: LaTeX prints their largest number in bold.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    best: tuple[str, ...] = ()

    @classmethod
    def from_rows(
        cls, head: Iterable[str], rows: Iterable[Iterable[Cell]], title: str = "", best: Iterable[str] = ()
    ) -> "Table":
        """Build a table from rows of any kind."""
        return cls(tuple(head), tuple(tuple(row) for row in rows), title, tuple(best))

    def words(self) -> list[list[str]]:
        """Rows with every cell as text."""
        return [list(map(written, row)) for row in self.rows]

    def rich(self, *, markup: bool = False, **options: Any) -> "RichTable":
        """Render for a terminal; a row of one cell begins a section. Options are those of rich's Table."""
        from rich.markup import escape
        from rich.table import Table as RichTable

        head, title = [escape(name) for name in self.head], escape(self.title) or None
        shown = RichTable(title=title, title_justify="left", pad_edge=False, **options)
        for name in head:
            shown.add_column(name, overflow="fold")
        for row in self.words():
            row = list(map(printable, row))
            if len(row) == 1:
                shown.add_section()
            shown.add_row(*(row if markup else map(escape, row)))
        return shown

    def markdown(self) -> str:
        """Render for a Markdown page, with escaped cells."""
        lines = [self.head, ["---"] * len(self.head), *(map(escaped, row) for row in self.words())]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def html(self) -> str:
        """Render for an HTML page."""
        lines = [
            "".join(f"<{tag}>{html_escape(cell)}</{tag}>" for cell in line)
            for tag, line in (("th", self.head), *(("td", row) for row in self.words()))
        ]
        rows = "".join(f"<tr>{line}</tr>" for line in lines)
        return f"<table><caption>{html_escape(self.title)}</caption>{rows}</table>"

    _repr_html_ = html

    def csv(self) -> str:
        """Render with all digits, and empty cells for unknown values; an interval takes two more columns.

        Text that a spreadsheet would evaluate is prefixed by an apostrophe.
        """
        text = io.StringIO()
        rows = [[f"'{cell}" if _FORMULA.match(str(cell)) else cell for cell in row] for row in self._wide()]
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue()

    def to_dataframe(self) -> Any:
        """Convert to a pandas DataFrame; ModuleNotFoundError without pandas."""
        import pandas

        head, *rows = self._wide()
        return pandas.DataFrame(rows, columns=head)

    def _wide(self) -> list[list[Cell]]:
        wide = [any(isinstance(row[i], Interval) for row in self.rows) for i in range(len(self.head))]
        lines: list[list[tuple[Cell, ...]]] = [[(name, f"{name} low", f"{name} high") for name in self.head]]
        lines += [[bounds(cell) for cell in row] for row in self.rows]
        many = [3 if has else 1 for has in wide]
        return [[part for parts, n in zip(line, many, strict=True) for part in parts[:n]] for line in lines]


def written(cell: Cell) -> str:
    """Cell as text: a dash for None, DIGITS significant digits, whole numbers in full.

    A number with an interval has two digits of the shorter side of the interval.
    """
    if cell is None:
        return "–"
    if isinstance(cell, Interval):
        value, low, high = (rounded(bound, decimals(cell)) for bound in (cell.value, cell.low, cell.high))
        return f"{value} [{low}, {high}]"
    return cell if isinstance(cell, str) else rounded(cell, None)


def decimals(cell: Cell) -> int | None:
    """Decimals that an interval warrants; None for significant digits."""
    if not isinstance(cell, Interval):
        return None
    sides = [s for s in (cell.value - cell.low, cell.high - cell.value) if 1e-12 < s < math.inf]
    return max(0, 1 - math.floor(math.log10(min(sides)))) if sides else None


def rounded(value: float, places: int | None) -> str:
    """Round a number to `places` decimals, or for None to DIGITS significant digits."""
    if places is None:
        return str(value) if isinstance(value, int) else f"{value:.{DIGITS}g}"
    # Adding zero turns a rounded -0.0 into 0.0.
    return f"{round(value, places) + 0:.{places}f}"


def bounds(cell: Cell) -> tuple[str | float | None, ...]:
    """A cell's value, followed by its interval if it has one."""
    return (cell.value, cell.low, cell.high) if isinstance(cell, Interval) else (cell, None, None)
