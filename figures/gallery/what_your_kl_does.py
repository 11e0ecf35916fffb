"""A KL term often estimates one quantity while its gradient minimises another.

Published forms of a KL term are evaluated on the samples that they are used with, by enumeration of every
answer of small problems. A row is the quantity that a form's value estimates and a column the quantity that
its gradient minimises, or the nearest one if neither is exact. Numbers count forms; in blue
cells both are the same. `dph audit catalogue` lists the forms.
"""

import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle

from dph_theory.support.table import Table

from ..frames import Records
from ..style import BLACK, BLUE, LIGHT, Sheet

NEEDS = ("audit",)
QUANTITIES = {
    "forward KL": ("forward KL(ref||pi)", "forward KL(p_*||pi)"),
    "reverse KL": ("reverse KL(pi||ref)",),
    "JS": ("JS generator",),
    r"$\alpha$": ("alpha-divergence",),
    r"$\chi^2$": ("chi-squared",),
    "total variation": ("total variation",),
    "nothing": ("zero",),
    "none of these": ("none", "failed"),
}
"""Words of a row or a column, by the beginnings of an audited quantity's names."""


def numbers(records: Records) -> pd.DataFrame:
    """Rows of the audit, one per form and its samples."""
    return pd.DataFrame(records.results("audit")["rows"])


def _quantity(name: str) -> str:
    return next(words for words, starts in QUANTITIES.items() if name.startswith(starts))


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """One cell per pair of quantities, with its number of forms: blue if both are equal, else grey."""
    estimated, minimised = (frame[part].str["name"].map(_quantity) for part in ("value", "gradient"))
    table, axes = pd.crosstab(estimated, minimised), sheet.panels(height=2.9)
    rows, columns = ([name for name in QUANTITIES if name in set(part)] for part in (estimated, minimised))
    table = table.reindex(index=rows, columns=columns)
    for (row, column), number in np.ndenumerate(table.to_numpy()):
        agrees = rows[row] == columns[column] and number
        color = BLUE if agrees else LIGHT if number else "white"
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=color, edgecolor=LIGHT, lw=0.5))
        axes.text(column, row, number or "", ha="center", va="center", color="white" if agrees else BLACK)
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    axes.set_xticks(range(len(columns)), columns, rotation=40, ha="right")
    axes.set_yticks(range(len(rows)), rows)
    axes.set(xlabel="its gradient minimises", ylabel="its value estimates")
    axes.set_title("Number of forms; blue: both are the same")
    axes.tick_params(length=0)


def table(frame: pd.DataFrame) -> Table:
    """Counts of forms with zero expected gradient, with another divergence, and with flat regions."""
    estimated, minimised = frame.value.str["name"].str.removesuffix(" + log A1"), frame.gradient.str["name"]
    exact = frame.value.str["exact"] & frame.gradient.str["exact"]
    another = exact & (minimised != "zero") & (estimated != minimised)
    counts = {
        "no gradient in expectation": minimised == "zero",
        "estimates one divergence, minimises another": another,
        "no gradient at some log ratios": frame.dead_zones.map(len) > 0,
    }
    rows = [("audited", len(frame), "")]
    for what, which in counts.items():
        rows.append((what, int(which.sum()), ", ".join(dict.fromkeys(frame.loss[which]))))
    return Table.from_rows(("forms", "number", "which"), rows)


def claim(frame: pd.DataFrame) -> bool:
    """More than a third of the forms estimate one quantity and minimise another."""
    return bool((frame.value.str["name"] != frame.gradient.str["name"]).mean() > 1 / 3)
