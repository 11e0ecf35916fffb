"""Each penalty retains more of what the base solves than DAPO, which has none.

Left: the share of the prompts solved by the base that are still solved after training. Right: the share of
the others that are newly solved. A prompt counts as solved if Pass@16, exact by enumeration, is at least 0.9.
The model is a tiny transformer on its training prompts; means over seeds with 95% intervals, and the table
has held-out prompts. GRPO has k3 at .04 as published, RKL is k3 without importance weight on all prompts, and
DPH methods train on stored correct samples of the prompts that the base solves.
"""

import pandas as pd

from dph_theory.intervals import probability_interval
from dph_theory.support.table import Table

from ..frames import Records, estimates, tabled
from ..style import GREY, Sheet, dot, look, rows

NEEDS = ("styles",)
MEASURES = {"retention": "retained", "exploration": "newly solved"}
SPLITS = {"train": "training prompts", "held_out": "held-out prompts"}


def numbers(records: Records) -> pd.DataFrame:
    """Models of the comparison, one row per model and split."""
    return records.styles[records.styles.main]


def shares(frame: pd.DataFrame, split: str, measure: str) -> pd.DataFrame:
    """Mean share over seeds with its interval, by method."""
    runs = frame[(frame.split == split) & (frame.label != "base")]
    return estimates(runs.groupby("label", sort=False), measure, probability_interval)


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """Share retained (left) and share newly solved (right), one row per method, the most retaining on top."""
    shown = {name: shares(frame, "train", name) for name in MEASURES}
    labels = shown["retention"].sort_values("mean", ascending=False).index
    panels = sheet.panels(2, across=2, height=1.0 + 0.19 * len(labels), sharey=True)
    for axes, (measure, words) in zip(panels, MEASURES.items(), strict=True):
        for row, label in enumerate(labels):
            dot(axes, shown[measure].loc[label], row, look(str(label), marker="o"))
        axes.set(xlim=(-0.03, 1.03), xlabel=f"share {words}")
        axes.grid(axis="y", color=GREY, alpha=0.2, linewidth=0.5)
        axes.set_axisbelow(True)
    rows(panels[0], labels)


def table(frame: pd.DataFrame) -> Table:
    """Shares of every method, means over seeds."""
    columns = {
        f"{word}, {words}": shares(frame, split, measure)["mean"]
        for split, words in SPLITS.items()
        for measure, word in MEASURES.items()
    }
    means = pd.DataFrame(columns).rename_axis("method").reset_index()
    return tabled(means, best=columns)


def claim(frame: pd.DataFrame) -> bool:
    """Every method with a penalty retains a larger share of the solved training prompts than DAPO."""
    retention = shares(frame, "train", "retention")["mean"]
    return bool(retention.drop("DAPO").min() > retention["DAPO"])
