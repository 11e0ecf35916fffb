"""With a penalty training retains what the base solves; DAPO, without one, loses about a third.

Left: the share of the prompts solved by the base that are still solved after training. Right: the share of
the others that are newly solved. A prompt counts as solved if Pass@16, exact by enumeration, is at least 0.9.
The model is a tiny transformer, on its training prompts (filled) and on held-out ones (open), counted below
the axes as averages over seeds; means over seeds with 95% intervals. RKL is k3 without importance weight on
all prompts, and DPH methods train on stored correct samples of the prompts that the base solves.
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
    """Share retained (left) and share newly solved (right), one row per method."""
    labels = shares(frame, "train", "retention").index
    panels = sheet.panels(2, height=1.0 + 0.21 * len(labels), sharey=True)
    for axes, (measure, words) in zip(panels, MEASURES.items(), strict=True):
        for split, shift in zip(SPLITS, (-0.16, 0.16), strict=True):
            for row, (label, line) in enumerate(shares(frame, split, measure).iterrows()):
                dot(axes, line, row + shift, look(str(label)), filled=split == "train")
        counted = "base_solved" if measure == "retention" else "base_unsolved"
        counts = frame[frame.label == "base"].groupby("split", sort=False)[counted].mean()
        of_which = "solved" if measure == "retention" else "not solved"
        prompts = f"of {counts['train']:.0f} + {counts['held_out']:.0f} prompts {of_which} by the base"
        axes.set(xlim=(-0.03, 1.03), xlabel=f"share {words}\n{prompts}")
        axes.grid(axis="y", color=GREY, alpha=0.2, linewidth=0.5)
        axes.set_axisbelow(True)
    rows(panels[0], labels)
    for words, face in zip(SPLITS.values(), (GREY, "white"), strict=True):
        panels[0].plot([], [], "o", color=GREY, markerfacecolor=face, label=words)
    sheet.legend([panels[0]], 2)


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
    """DAPO retains about two thirds of the solved training prompts; methods with a penalty retain most."""
    retention = shares(frame, "train", "retention")["mean"]
    return bool(abs(retention["DAPO"] - 2 / 3) < 0.05 and retention.drop(["GRPO", "DAPO"]).min() > 0.85)
