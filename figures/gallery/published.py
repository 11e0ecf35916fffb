"""Li et al.: losses on Spider, and GRPO's Pass@16 on BIRD, exceed sampling noise; AIME24 shows nothing.

Pass@k of each method minus the base's, as public summaries report the tables of arXiv:2509.07430 (the paper
was not read), in points. Bars: 95% intervals from the number of questions alone, 1,534 (BIRD), 1,034 (Spider)
and 30 (AIME24), the two models taken as independent. The same questions answered by both would make them
narrower; seeds of training, of which nothing is reported, wider.
"""

import json
from typing import Any

import numpy as np

from dph_theory.support.table import Table

from ..frames import NUMBERS, Records
from ..style import Sheet, look, rows

Z = 1.96
"""Half a 95% interval in standard errors."""


def difference(method: float, reference: float, questions: int) -> tuple[float, float]:
    """A difference of two percentages and half of its 95% interval, from binomial errors."""
    shares = np.array([method, reference]) / 100
    return method - reference, 100 * Z * float(np.sqrt((shares * (1 - shares)).sum() / questions))


def numbers(records: Records) -> dict[str, Any]:
    """By table and method: the difference to the base and half of its interval; and DPH against GRPO."""
    stored = json.loads((NUMBERS / "published.json").read_text(encoding="utf-8"))
    differences: dict[str, Any] = {}
    for row in (row for row in stored["tables"] if row["questions"]):
        values = {m: p for m, p in zip(stored["methods"], row["percent"], strict=True) if p is not None}
        against = {
            f"{m} - {other}": difference(values[m], values[other], row["questions"])
            for other in ("base", "GRPO")
            for m in values
            if m not in ("base", other)
        }
        differences[row["name"]] = against
    return differences


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """A row a table, a mark a method."""
    axes = sheet.panels(height=2.6)
    names = [name for name in numbers if "Pass" in name]
    for place, name in enumerate(names):
        shown = [
            (key.partition(" - ")[0], cell) for key, cell in numbers[name].items() if key.endswith("base")
        ]
        for number, (method, (value, half)) in enumerate(shown):
            y = place + 0.12 * (number - (len(shown) - 1) / 2)
            style = {k: v for k, v in look(method).items() if k in ("color", "marker")}
            axes.errorbar(value, y, xerr=half, capsize=2, linestyle="", label=method, **style)
    rows(axes, names)
    axes.axvline(0, color="black", linewidth=0.6)
    axes.set_xlabel("points above the base")
    sheet.legend([axes], 5)


def table(numbers: dict[str, Any]) -> Table:
    """Every difference, its interval, and whether that excludes zero."""
    cells = [
        (name, pair, f"{value:+.1f}", f"{half:.1f}", "yes" if abs(value) > half else "no")
        for name, pairs in numbers.items()
        for pair, (value, half) in pairs.items()
    ]
    return Table.from_rows(("table", "difference", "points", "+-", "beyond noise"), cells)


def claim(numbers: dict[str, Any]) -> bool:
    """Spider: every method falls below the base; BIRD Pass@16: GRPO does; AIME24: nothing is beyond noise."""

    def beyond(name: str, pair: str) -> bool:
        value, half = numbers[name][pair]
        return bool(abs(value) > half)

    spider = all(
        beyond(name, p) for name in numbers if "Spider" in name for p in numbers[name] if "base" in p
    )
    return (
        spider
        and beyond("BIRD, Pass@16", "GRPO - base")
        and not any(beyond("AIME24, Pass@64", pair) for pair in numbers["AIME24, Pass@64"])
    )
