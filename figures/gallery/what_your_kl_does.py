"""What a KL term estimates is often not what its gradient minimises.

Each row is a published form of a KL term, on the samples that it is used with (pi: the policy, pi_old: that
of some updates before, p_*: correct samples of the reference); nothing is sampled, every answer of small
problems is listed. The columns say what its value estimates, and what its gradient minimises for
single answers and for token sequences; a filled cell is an exact match on every audited problem, an outlined
one names the nearest quantity, with the angle between the gradients.
"""

from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from dph_theory.support.table import Table

from ..frames import Records
from ..style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, Sheet

NEEDS = ("audit",)
COLUMNS = {
    "value": "value\nestimates",
    "gradient": "gradient\nminimises",
    "sequence_gradient": "gradient on\nsequences",
}
DRAWN_FROM = {"policy": r"$\pi$", "old_policy": r"$\pi_{old}$", "filtered": r"$p_*$"}
"""The samples of the rows that are drawn."""
SHORT = (
    ("forward KL(ref||pi)", "forward KL", BLUE),
    ("forward KL(p_*||pi)", "forward KL to $p_*$", BLUE),
    ("reverse KL(pi||ref)", "reverse KL", PURPLE),
    ("JS generator", "JS", GREEN),
    ("alpha-divergence", r"$\alpha$", SKY),
    ("minus expected reward", "reward", GREY),
    ("entropy", "entropy", GREY),
    ("chi-squared", r"$\chi^2$", SKY),
    ("total variation", "TV", ORANGE),
    ("zero", "nothing", BLACK),
)
"""By the beginning of an audited quantity's name: what a cell says, and its colour."""


def numbers(records: Records) -> pd.DataFrame:
    """The audit's rows, one a form and its samples."""
    return pd.DataFrame(records.results("audit")["rows"])


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """A cell for what a form's value and gradients are found to be: filled where exact, else nearest."""
    shown = frame[frame.samples.isin(list(DRAWN_FROM))]
    # In a column there is room for two, and for words of two lines beside them.
    axes = sheet.panels(height=0.5 + (0.24 if sheet.narrow else 0.17) * len(shown))
    columns = {name: words for name, words in COLUMNS.items() if name != "gradient" or not sheet.narrow}
    size = 6 if sheet.narrow else 6.5
    for place, row in enumerate(shown.to_dict("records")):
        for column, name in enumerate(columns):
            _cell(axes, row[name], column, place, size)
    axes.set(xlim=(0, len(columns)), ylim=(len(shown) - 0.4, -0.6))
    axes.set_xticks(np.arange(len(columns)) + 0.5, list(columns.values()))
    axes.xaxis.tick_top()
    broken = shown.loss.map(lambda name: fill(name, 18) if sheet.narrow else name)
    names = broken + ", on " + shown.samples.map(DRAWN_FROM)
    axes.set_yticks(range(len(shown)), names, fontsize=size)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _cell(axes: Axes, match: dict[str, Any], column: int, place: int, size: float) -> None:
    word, color, exact = words(match)
    face = color if exact else "none"
    axes.add_patch(
        Rectangle((column + 0.02, place - 0.42), 0.96, 0.84, facecolor=face, edgecolor=color, lw=0.6)
    )
    shade = "white" if exact and color in (BLACK, BLUE) else BLACK
    axes.text(column + 0.5, place, word, ha="center", va="center_baseline", color=shade, fontsize=size)


def words(match: dict[str, Any]) -> tuple[str, str, bool]:
    """What a cell says of a match, its colour, and whether the match is exact."""
    per_token, name = match["name"].startswith("token sum of "), match["name"].removeprefix("token sum of ")
    word, color = next(((word, color) for start, word, color in SHORT if name.startswith(start)), ("", ""))
    if not word:
        return ("none of these", GREY, False)
    word = f"{word} per token" if per_token else word
    if match["exact"] or name == "zero":
        return (word, color, True)
    angle = match.get("angle")
    return (
        rf"$\approx$ {word}"
        + ("" if angle is None else rf", ${angle:.0f}^\circ$" if angle >= 1 else r", $<1^\circ$"),
        color,
        False,
    )


def minimises_another(frame: pd.DataFrame) -> pd.Series:
    """Whether a form estimates one divergence exactly, and minimises another."""
    estimated, minimised = frame.value, frame.gradient
    names = (
        estimated.map(lambda match: match["name"].removesuffix(" + log A1")),
        minimised.map(lambda match: match["name"]),
    )
    exact = estimated.map(lambda match: match["exact"]) & minimised.map(lambda match: match["exact"])
    return exact & (names[1] != "zero") & (names[0] != names[1])


def table(frame: pd.DataFrame) -> Table:
    """How many forms have an expected gradient of zero, minimise another divergence, or have flat regions."""
    counts = {
        "no gradient in expectation": frame.gradient.map(lambda match: match["name"] == "zero"),
        "estimates one divergence, minimises another": minimises_another(frame),
        "no gradient at some log ratios": frame.dead_zones.map(len) > 0,
    }
    rows = [
        (what, int(which.sum()), ", ".join(dict.fromkeys(frame.loss[which])))
        for what, which in counts.items()
    ]
    return Table.from_rows(("forms", "number", "which"), [("audited", len(frame), ""), *rows])


def claim(frame: pd.DataFrame) -> bool:
    """More than a third of the forms estimate one quantity and minimise another."""
    return bool(
        (frame.value.map(lambda m: m["name"]) != frame.gradient.map(lambda m: m["name"])).mean() > 1 / 3
    )
