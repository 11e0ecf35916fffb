"""A table of results, rows of words and numbers: for a terminal, Markdown, HTML, CSV and LaTeX."""

import csv
import importlib
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape as html_escape
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from rich.table import Table as RichTable


@dataclass(frozen=True)
class Estimate:
    """A number with its 95% confidence interval [low, high]."""

    value: float
    low: float
    high: float

    def __repr__(self) -> str:
        from .record import readable  # It loads numpy.

        return readable(self)

    def __str__(self) -> str:
        """Such as 0.25 [0.2, 0.3]."""
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"


Cell: TypeAlias = str | float | Estimate | None
"""A word, a number with or without its interval, or None for what is not known."""
DIGITS, _NARROW = 4, 10
"""Significant digits of a number; letters that a column's name may take in a line, whatever is below it."""
_SHRUNK = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {character: f"${character}$" for character in "<>|"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--"}
)
_FORMULA = re.compile(r"[=@\t\r]|[+-](?![\d.]|inf|nan|$)")
_INFINITE = re.compile(r"(-?)\binf\b")
_GREEK = r"(?:alpha|beta|gamma|eta|mu|pi)"
_MATHS = re.compile(
    rf"KL\([^()]*\)|(?:{_GREEK} )?f''\(1\)"
    rf"|\b(?:\w+_G\(V\)|\w+_\*|(?:[pD]|pi)_\w+|e\^\w+|{_GREEK}|[VJFk])(?!\w)"
)
_WORDS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


def printable(text: str) -> str:
    """Text that no terminal obeys: characters that are not printed stand as their escapes."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, also inside a table."""
    return re.sub(r"([\\`*_|<])", r"\\\1", text)


@dataclass(frozen=True)
class Table:
    """The columns' names and the rows, a cell a column; a title where several stand together.

    Of the columns named in `best` more is better: LaTeX prints their largest number in bold.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    best: tuple[str, ...] = ()

    @classmethod
    def from_rows(
        cls, head: Iterable[str], rows: Iterable[Iterable[Cell]], title: str = "", best: Iterable[str] = ()
    ) -> "Table":
        """The table of these rows."""
        return cls(tuple(head), tuple(tuple(row) for row in rows), title, tuple(best))

    def words(self) -> list[list[str]]:
        """The rows with every cell in words."""
        return [list(map(written, row)) for row in self.rows]

    def rich(self, *, markup: bool = False, **options: Any) -> "RichTable":
        """The table at a terminal; a row of one cell begins a section. Options are those of rich's Table."""
        from rich.markup import escape
        from rich.table import Table as RichTable

        head, title = [escape(name) for name in self.head], escape(self.title) or None
        shown = RichTable(*head, title=title, title_justify="left", pad_edge=False, **options)
        for row in self.words():
            row = list(map(printable, row))
            if len(row) == 1:
                shown.add_section()
            shown.add_row(*(row if markup else map(escape, row)))
        return shown

    def markdown(self) -> str:
        """The table in a Markdown page, its cells shown as they are."""
        lines = [self.head, ["---"] * len(self.head), *(map(escaped, row) for row in self.words())]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def html(self) -> str:
        """The table in a page."""
        lines = [
            "".join(f"<{tag}>{html_escape(cell)}</{tag}>" for cell in line)
            for tag, line in (("th", self.head), *(("td", row) for row in self.words()))
        ]
        rows = "".join(f"<tr>{line}</tr>" for line in lines)
        return f"<table><caption>{html_escape(self.title)}</caption>{rows}</table>"

    _repr_html_ = html

    def csv(self) -> str:
        """All digits, and nothing for what is not known; an interval takes two columns more.

        A word that a spreadsheet would compute stands after an apostrophe.
        """
        text = io.StringIO()
        rows = [[f"'{cell}" if _FORMULA.match(str(cell)) else cell for cell in row] for row in self._wide()]
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue()

    def to_dataframe(self) -> Any:
        """The same as a pandas DataFrame; ModuleNotFoundError without pandas."""
        head, *rows = self._wide()
        return dataframe({str(name): [row[i] for row in rows] for i, name in enumerate(head)})

    def _wide(self) -> list[list[Cell]]:
        """The head and the rows, an interval in three columns."""
        wide = [any(isinstance(row[i], Estimate) for row in self.rows) for i in range(len(self.head))]
        lines: list[list[tuple[Cell, ...]]] = [[(name, f"{name} low", f"{name} high") for name in self.head]]
        lines += [[_bounds(cell) for cell in row] for row in self.rows]
        many = [3 if has else 1 for has in wide]
        return [[part for parts, n in zip(line, many, strict=True) for part in parts[:n]] for line in lines]

    def latex(self) -> str:
        """A tabular with the rules of booktabs, which graphicx shrinks if it is wider than a line.

        Numbers stand to the right, those of a column with the same decimals.
        """
        cells = list(zip(*self.rows, strict=True)) or [()] * len(self.head)
        columns = [
            _latex_column(name, column, name in self.best)
            for name, column in zip(self.head, cells, strict=True)
        ]
        form = "".join(side for side, _ in columns)
        head, *rows = (
            " & ".join(line) + r" \\" for line in zip(*(words for _, words in columns), strict=True)
        )
        lines = [_SHRUNK, rf"\begin{{tabular}}{{{form}}}", r"\toprule", head, r"\midrule", *rows]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}}"]) + "\n"


def written(cell: Cell) -> str:
    """A cell in words: a dash for None, DIGITS significant digits, whole numbers in full.

    A number with an interval has two digits of the shorter side of the interval.
    """
    if cell is None:
        return "–"
    if isinstance(cell, Estimate):
        value, low, high = (rounded(bound, decimals(cell)) for bound in (cell.value, cell.low, cell.high))
        return f"{value} [{low}, {high}]"
    return cell if isinstance(cell, str) else rounded(cell, None)


def decimals(cell: Cell) -> int | None:
    """The decimals that an interval warrants; None for significant digits."""
    if not isinstance(cell, Estimate):
        return None
    sides = [s for s in (cell.value - cell.low, cell.high - cell.value) if 1e-12 < s < math.inf]
    return max(0, 1 - math.floor(math.log10(min(sides)))) if sides else None


def rounded(value: float, places: int | None) -> str:
    """A number to so many decimals, or with None to DIGITS significant digits."""
    if places is None:
        return str(value) if isinstance(value, int) else f"{value:.{DIGITS}g}"
    # Adding zero makes a rounded -0.0 plain.
    return f"{round(value, places) + 0:.{places}f}"


def dataframe(columns: Mapping[str, Sequence[Any]]) -> Any:
    """The columns as a pandas DataFrame, which needs pandas."""
    try:
        pandas = importlib.import_module("pandas")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("a DataFrame needs pandas: pip install pandas", name="pandas") from error
    return pandas.DataFrame(columns)


def _bounds(cell: Cell) -> tuple[str | float | None, ...]:
    """A cell's value, and its interval where it has one."""
    return (cell.value, cell.low, cell.high) if isinstance(cell, Estimate) else (cell, None, None)


def latex(text: str) -> str:
    """Text as LaTeX shows it; formulas, numbers in powers of ten and infinity as maths."""
    if power := re.fullmatch(r"(-?[\d.]+)e([+-]\d+)", text):
        return rf"${power[1]} \times 10^{{{int(power[2])}}}$"
    ends = [0, *(end for match in _MATHS.finditer(text) for end in match.span()), len(text)]
    parts = [text[start:end] for start, end in pairwise(ends)]
    text = "".join(f"${_maths(part)}$" if odd % 2 else _plain(part) for odd, part in enumerate(parts))
    return re.sub("`([^`]+)`", r"\\texttt{\1}", text)


def _plain(text: str) -> str:
    return _INFINITE.sub(r"$\1\\infty$", text.translate(_LATEX)).replace("$|$$|$", r"$\|$")


def _maths(formula: str) -> str:
    r"""Such as \mathrm{KL}(p_* \,\|\, p_{\beta}) of KL(p_* || p_beta)."""
    shown = re.sub(r"_(\w{2,})", r"_{\1}", re.sub(r"\^(\w+)", r"^{\1}", formula))
    shown = re.sub(rf"(?<![A-Za-z\\]){_GREEK}(?![A-Za-z])", lambda name: rf"\{name[0]}", shown)
    shown = re.sub(
        r"(?<![A-Za-z\\])[A-Za-z]{2,}(?: [a-z]+)*",
        lambda words: rf"\mathrm{{{words[0].replace(' ', '~')}}}",
        shown,
    )
    return re.sub(r"\bD_", r"\\mathcal{D}_", shown).replace("||", r"\,\|\,")


def _latex_column(name: str, cells: Sequence[Cell], best: bool) -> tuple[str, list[str]]:
    """The side of a column, its name in lines, its cells; decimals of plain numbers are those of the largest.

    Numbers that would then be nothing but zeros keep significant digits: their column spans magnitudes.
    """
    plain = [abs(cell) for cell in cells if isinstance(cell, float) and math.isfinite(cell)]
    most, least = max(plain, default=0.0), min(filter(None, plain), default=0.0)
    places = max(0, DIGITS - 1 - math.floor(math.log10(most))) if most and least > most / 1000 else None
    values = [_bounds(cell)[0] for cell in cells]
    largest = max((value for value in values if isinstance(value, int | float)), default=None)
    words = [
        latex(rounded(cell, places) if isinstance(cell, float) and math.isfinite(cell) else written(cell))
        for cell in cells
    ]
    if best:
        words = [
            rf"\textbf{{{word}}}" if value == largest else word
            for word, value in zip(words, values, strict=True)
        ]
    lines = wrap(name, max([_NARROW, *map(len, words)]), break_long_words=False)
    head = r" \\ ".join(map(latex, lines))
    head = rf"\shortstack{{{head}}}" if len(lines) > 1 else head
    return ("l" if not cells or any(isinstance(cell, str) for cell in cells) else "r"), [head, *words]


def command(text: str) -> str:
    """The name of a LaTeX command, which has letters alone: in camel case, digits as words."""
    spelled = re.sub(r"\d", lambda digit: f" {_WORDS[int(digit[0])]} ", text)
    first, *later = re.findall(r"[A-Za-z]+", spelled)
    return first + "".join(word[0].upper() + word[1:] for word in later)
