"""DAPO, without a penalty, drops styles; with a strong one nearly all are retained.

A tiny transformer answers sums in one of five styles, and most prompts accept only one style, which they do
not show. RKL is k3 without importance weight on all prompts, GRPO has it at .04, and DPH methods put their
divergence on stored correct samples of the prompts that the base solves. Left: the expected number of 32
samples in each style, averaged over training prompts and ranked from the most to the least used style of each
model. Right: the expected number of distinct styles among a prompt's 32 samples; exact for each model, means
over seeds with 95% intervals.
"""

import numpy as np
import pandas as pd

from dph_theory.support.table import Table

from ..frames import Records, estimates, means, tabled
from ..style import BLACK, GREY, Sheet, dot, look, rows, written

NEEDS = ("styles",)
SHOWN = {"base": "", "GRPO": "////", "DAPO": "", "RKL 0.3": "....", "DPH-F 0.3": "", "DPH-JS 0.3": r"\\\\\\"}
"""Models with bars, and their hatches, which differ in grey."""


def numbers(records: Records) -> pd.DataFrame:
    """Models of the comparison on training prompts, one row each; histograms by rank."""
    frame = records.styles
    frame = frame[frame.main & (frame.split == "train")]
    # By rank, because training may favour another style from every base.
    return frame.assign(ranked=[sorted(histogram, reverse=True) for histogram in frame.style_histogram])


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """Left: samples of 32 in each style, by rank, a group of bars per method; right: distinct styles."""
    left, right = sheet.panels(2, height=2.6, width_ratios=(1.4, 1))
    place, width = np.arange(5), 0.8 / len(SHOWN)
    for index, (label, hatch) in enumerate(SHOWN.items()):
        mean, low, high = means(np.stack(frame.ranked[frame.label == label]))
        at = place + (index - (len(SHOWN) - 1) / 2) * width
        color = "white" if label == "base" else look(label)["color"]
        bar_style = {"color": color, "edgecolor": BLACK, "linewidth": 0.4, "hatch": hatch}
        left.bar(at, mean, width, label=written(label), **bar_style)
        if np.isfinite(low).all():
            sides = np.abs([low - mean, high - mean])
            left.errorbar(at, mean, sides, fmt="none", ecolor=BLACK, elinewidth=0.6)
    left.set_xticks(place, [str(rank + 1) for rank in place])
    left.set(xlabel="style by rank", ylabel="of 32 samples", ylim=(0, None), title="Each method's styles")
    left.legend(ncols=2)
    distinct = estimates(frame.groupby("label", sort=False), "distinct_styles")
    for row, (label, line) in enumerate(distinct.iterrows()):
        dot(right, line, row, look(str(label)))
    right.axvline(distinct.loc["base", "mean"], color=GREY, linewidth=0.8, linestyle=":")
    rows(right, list(distinct.index))
    right.set(xlabel="distinct styles in 32 samples", title="How many are left")


def table(frame: pd.DataFrame) -> Table:
    """Distinct styles in 32 samples by method, means over seeds."""
    distinct = frame.groupby("label", sort=False).distinct_styles.mean().reset_index()
    names = {"label": "method", "distinct_styles": "distinct styles in 32 samples"}
    return tabled(distinct, names, best=["distinct styles in 32 samples"])


def claim(frame: pd.DataFrame) -> bool:
    """DAPO has fewer than four styles left; every method with a strong penalty nearly the base's."""
    distinct = estimates(frame.groupby("label"), "distinct_styles")
    anchored = distinct.drop(["base", "GRPO", "DAPO"])["mean"]
    return bool(distinct.loc["DAPO", "high"] < 4 and anchored.min() > distinct.loc["base", "mean"] - 0.25)
