"""In the published tables every method loses Pass@k on Spider beyond sampling noise.

Pass@k of each method minus the base's, as public summaries report the tables of arXiv:2509.07430 (the paper
was not read), in points. Bars: 95% intervals from the number of questions alone, 1,534 (BIRD), 1,034 (Spider)
and 30 (AIME24), the two models taken as independent. The same questions answered by both would make them
narrower; seeds of training, of which nothing is reported, wider. The table has Pass@8, and beside each
difference the signs of the same one in two studies of the built-in SQL task, `dph demo` and
`dph experiment sql`.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from dph_theory.support.table import Table

from ..frames import NUMBERS, Records
from ..style import Sheet, look

NEEDS = ("demo", "sql")
Z = 1.96
"""Half a 95% interval in standard errors."""


def difference(method: float, reference: float, questions: int) -> tuple[float, float]:
    """A difference of two percentages and half of its 95% interval, from binomial errors."""
    shares = np.array([method, reference]) / 100
    return method - reference, 100 * Z * float(np.sqrt((shares * (1 - shares)).sum() / questions))


def own_runs(records: Records) -> list[Mapping[str, Any]]:
    """Values over seeds by method and measure, of both studies of the built-in SQL task."""
    demo, long = records.results("demo")["methods"], records.results("sql")
    shown = [f"Pass@{k}" for k in records.record("sql")["config"]["shown"]]
    ends = [("base", long["base"]), *((run["label"], run["course"][-1]) for run in long["runs"])]
    values: dict[str, dict[str, list[float]]] = {}
    for label, end in ends:
        for measure, value in zip(shown, end["held_out"]["pass_at"], strict=True):
            values.setdefault(label, {}).setdefault(measure, []).append(value)
    return [{name: {m: cell["values"] for m, cell in row.items()} for name, row in demo.items()}, values]


def own_signs(studies: list[Mapping[str, Any]], measure: str, pair: tuple[str, str]) -> str:
    """The sign of a difference in each study, over all pairs of seeds; "mixed" if they differ."""
    words = []
    for methods in studies:
        first, second = (methods.get(name, {}).get(measure, []) for name in pair)
        signs = {int(np.sign(x - y)) for x in first for y in second}
        words.append(
            "mixed" if len(signs) > 1 else {1: "+", -1: "-", 0: "0"}[signs.pop()] if signs else "no runs"
        )
    return ", ".join(dict.fromkeys(words)) if set(words) == {"no runs"} else ", ".join(words)


def numbers(records: Records) -> dict[str, Any]:
    """By table and pair of methods: the difference, half of its interval, and our own sign."""
    stored = json.loads((NUMBERS / "published.json").read_text(encoding="utf-8"))
    ours, differences = own_runs(records), dict[str, Any]()
    for row in (row for row in stored["tables"] if row["questions"]):
        values = {m: p for m, p in zip(stored["methods"], row["percent"], strict=True) if p is not None}
        against = {
            f"{m} - {other}": (
                *difference(values[m], values[other], row["questions"]),
                own_signs(
                    ours if "BIRD" in row["name"] else [{}], row["name"].partition(", ")[2], (m, other)
                ),
            )
            for other in ("base", "GRPO")
            for m in values
            if m not in ("base", other)
        }
        differences[row["name"]] = against
    return differences


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """One row per method, by benchmark."""
    axes, labels, place = sheet.panels(height=3.0), dict[float, str](), 0.0
    for name in ("BIRD, Pass@16", "Spider, Pass@16", "AIME24, Pass@64"):
        axes.text(-33, place, name, weight="bold", size=8, va="center")
        for pair, (value, half, _) in numbers[name].items():
            method, _, other = pair.partition(" - ")
            if other == "base":
                place += 1
                labels[place] = method
                axes.errorbar(value, place, xerr=half, capsize=2, color=look(method)["color"], marker="o")
        place += 1.5
    axes.set_yticks([*labels], [*labels.values()])
    axes.axvline(0, color="black", linewidth=0.6)
    axes.set(xlabel="points above the base", ylim=(place - 0.7, -0.7), xlim=(-34, 26))


def table(numbers: dict[str, Any]) -> Table:
    """Every difference, its interval, whether that excludes zero, and our own sign."""
    cells = [
        (name, pair, f"{value:+.1f}", f"{half:.1f}", "yes" if abs(value) > half else "no", own)
        for name, pairs in numbers.items()
        for pair, (value, half, own) in pairs.items()
    ]
    return Table.from_rows(("table", "difference", "points", "+-", "beyond noise", "ours (demo, sql)"), cells)


def claim(numbers: dict[str, Any]) -> bool:
    """Every method is below the base on Spider by more than half of the interval."""
    spider = [pairs for name, pairs in numbers.items() if "Spider" in name]
    return all(v + half < 0 for pairs in spider for pair, (v, half, _) in pairs.items() if "base" in pair)
