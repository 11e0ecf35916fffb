"""Tables, captions and numbers for inclusion in a paper: LaTeX with booktabs.

Cells are escaped and shown verbatim. In captions the few formulas that a plain sentence can contain (KL(p ||
q), p_*, Greek letters, powers) are set as mathematics.
"""

import math
import re
from itertools import pairwise

import pandas as pd

from dph_theory.support.table import DIGITS, Cell, Table, bounds, rounded, written

_SHRUNK = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
_ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {character: f"${character}$" for character in "<>|"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--"}
)
_GREEK = r"(?:alpha|beta|gamma|eta|mu|pi)"
_FORMULAS = re.compile(
    rf"KL\([^()\\{{}}%$#&]*\)|(?:{_GREEK} )?f''\(1\)|\b(?:\w+_G\(V\)|\w+_\*|(?:[pD]|pi)_\w+|e\^\w+)(?!\w)"
    rf"|(?<![\w-]){_GREEK}(?![\w-])"
)
_DIGITS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


def tabular(table: Table) -> str:
    """Format a tabular with booktabs' rules, shrunk by graphicx if it is wider than a line.

    Columns of numbers are right-aligned, with the decimals that their largest number warrants; the largest
    number of each column named in `table.best` is bold.
    """
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.head)
    places = list(map(_places, columns))
    cells = pd.DataFrame([[_cell(*pair) for pair in zip(row, places, strict=True)] for row in table.rows])
    bold = pd.DataFrame("", index=cells.index, columns=cells.columns)
    for i, (name, column) in enumerate(zip(table.head, columns, strict=True)):
        values = pd.to_numeric(pd.Series([bounds(cell)[0] for cell in column]), errors="coerce")
        if name in table.best:
            bold.loc[values == values.max(), i] = "textbf:--rwrap;"
    sides = "".join("l" if any(isinstance(cell, str) for cell in column) else "r" for column in columns)
    styled = cells.style.hide(axis="index").apply(lambda _: bold, axis=None)
    styled = styled.relabel_index([name.translate(_ESCAPES) for name in table.head], axis=1)
    return f"{_SHRUNK}\n{styled.to_latex(column_format=sides, hrules=True).rstrip()}}}\n"


def _places(column: tuple[Cell, ...]) -> int | None:
    """Decimals of a column's plain numbers; None, for significant digits, if it spans magnitudes."""
    plain = [abs(cell) for cell in column if isinstance(cell, float) and math.isfinite(cell)]
    most, least = max(plain, default=0.0), min(filter(None, plain), default=0.0)
    return max(0, DIGITS - 1 - math.floor(math.log10(most))) if most and least > most / 1000 else None


def _cell(cell: Cell, places: int | None) -> str:
    text = rounded(cell, places) if isinstance(cell, float) and math.isfinite(cell) else written(cell)
    if power := re.fullmatch(r"(-?[\d.]+)e([+-]\d+)", text):
        return rf"${power[1]} \times 10^{{{int(power[2])}}}$"
    return re.sub(r"(-?)\binf\b", r"$\1\\infty$", text.translate(_ESCAPES))


def sentence(text: str) -> str:
    """Format a caption or title for LaTeX, with formulas as mathematics and `code` in typewriter type."""
    ends = [0, *(end for match in _FORMULAS.finditer(text) for end in match.span()), len(text)]
    parts = [text[start:end] for start, end in pairwise(ends)]
    parts[::2] = [part.translate(_ESCAPES) for part in parts[::2]]
    parts[1::2] = [f"${_formula(part)}$" for part in parts[1::2]]
    shown = "".join(parts)
    return re.sub("`([^`]+)`", r"\\texttt{\1}", shown.replace("$|$$|$", r"$\|$"))


def _formula(text: str) -> str:
    r"""Convert to a formula such as \mathrm{KL}(p_* \,\|\, p_{\beta}) for KL(p_* || p_beta)."""
    shown = re.sub(r"_(\w{2,})", r"_{\1}", re.sub(r"\^(\w+)", r"^{\1}", text))
    shown = re.sub(rf"(?<![A-Za-z\\]){_GREEK}(?![A-Za-z])", lambda name: rf"\{name[0]}", shown)
    words = r"(?<![A-Za-z\\])[A-Za-z]{2,}(?: [a-z]+)*"
    shown = re.sub(words, lambda match: rf"\mathrm{{{match[0].replace(' ', '~')}}}", shown)
    return re.sub(r"\bD_", r"\\mathcal{D}_", shown).replace("||", r"\,\|\,")


def command(text: str) -> str:
    """Name of a LaTeX command for a text: letters only, in camel case, with digits as words."""
    spelled = re.sub(r"\d", lambda digit: f" {_DIGITS[int(digit[0])]} ", text)
    first, *later = re.findall(r"[A-Za-z]+", spelled)
    return first + "".join(word[0].upper() + word[1:] for word in later)
