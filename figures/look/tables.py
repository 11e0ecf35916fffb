"""A table of results: names of columns, rows of words and numbers; as CSV, LaTeX, and LaTeX commands."""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

Cell: TypeAlias = str | float | None
"""A word, a number, or None for what is not known."""
DIGITS = 4
_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {character: f"${character}$" for character in "<>|"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--"}
)
_WORDS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


@dataclass(frozen=True)
class Table:
    """The columns' names and the rows, a cell a column."""

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @classmethod
    def of(cls, head: Iterable[str], rows: Iterable[Iterable[Cell]]) -> "Table":
        """The table of these rows."""
        return cls(tuple(head), tuple(tuple(row) for row in rows))

    def csv(self) -> str:
        """All digits, and nothing for what is not known."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.head, *self.rows])
        return text.getvalue()

    def latex(self) -> str:
        """A tabular with the rules of the package booktabs; numbers to the right."""
        numeric = [
            all(not isinstance(cell, str) for cell in column) for column in zip(*self.rows, strict=True)
        ]
        form = "".join("r" if right else "l" for right in numeric or [False] * len(self.head))
        lines = [_line(self.head), r"\midrule", *(_line(map(written, row)) for row in self.rows)]
        parts = [rf"\begin{{tabular}}{{{form}}}", r"\toprule", *lines, r"\bottomrule", r"\end{tabular}"]
        return "\n".join(parts) + "\n"

    def commands(self, prefix: str) -> Iterator[tuple[str, str]]:
        r"""Names for \newcommand and the numbers that they stand for, row by row.

        A name is the prefix, the words of its row, and its column, in letters alone.
        """
        words = [" ".join(cell for cell in row if isinstance(cell, str)) for row in self.rows]
        for number, (row, of_row) in enumerate(zip(self.rows, words, strict=True), 1):
            told_apart = of_row if words.count(of_row) == 1 else f"{of_row} row {number}"
            for column, cell in zip(self.head, row, strict=True):
                if cell is not None and not isinstance(cell, str):
                    yield command(f"{prefix} {told_apart} {column}"), latex(written(cell))


def written(cell: Cell) -> str:
    """A cell in words: numbers to DIGITS significant digits, a dash for None."""
    if cell is None:
        return "–"
    return cell if isinstance(cell, str) else f"{cell:.{DIGITS}g}"


def latex(text: str) -> str:
    """Text as LaTeX shows it; numbers in powers of ten and infinity as formulas."""
    if text in ("inf", "-inf"):
        sign = text.removesuffix("inf")
        return rf"${sign}\infty$"
    if power := re.fullmatch(r"(-?[\d.]+)e([+-]\d+)", text):
        return rf"${power[1]} \times 10^{{{int(power[2])}}}$"
    return text.translate(_LATEX).replace("$|$$|$", r"$\|$")


def _line(cells: Iterable[str]) -> str:
    return " & ".join(latex(cell) for cell in cells) + r" \\"


def command(text: str) -> str:
    """The name of a LaTeX command, which has letters alone: in camel case, digits as words."""
    spelled = re.sub(r"\d", lambda digit: f" {_WORDS[int(digit[0])]} ", text)
    first, *others = re.findall(r"[A-Za-z]+", spelled)
    return first + "".join(word[0].upper() + word[1:] for word in others)
