"""A missed law is mostly too short a training or luck, seldom unexplained.

Runs of the record that were to reach their law, by experiment. A miss is time where the same training without
sampling noise misses too (G1, G5); luck where the run lies within three predicted deviations of that
noise-free rerun; luck beyond first order where it lies no further off than the same training on samples; no
twin where no noise-free rerun exists.
"""

from typing import Any

import numpy as np
import pandas as pd

from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import BLACK, LIGHT, ORANGE, SKY, VERMILLION, YELLOW, Sheet

NEEDS = ("laws",)
CAUSES: dict[str, dict[str, Any]] = {
    "held": {"facecolor": LIGHT},
    "time": {"facecolor": SKY},
    "luck": {"facecolor": ORANGE, "hatch": "////"},
    "luck beyond first order": {"facecolor": YELLOW, "hatch": "----"},
    "unexplained": {"facecolor": VERMILLION, "hatch": "xxxx"},
    "no twin": {"facecolor": BLACK},
}


def numbers(records: Records) -> pd.DataFrame:
    """By experiment, how many of its runs held and what the others' misses come from."""
    runs = records.laws.judged
    cause = runs.why_missed.where(runs.full_verdict != "held", "held")
    counts = pd.crosstab(runs.experiment, cause).reindex(columns=list(CAUSES), fill_value=0)
    return counts.loc[runs.experiment.unique()]


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """A bar an experiment, shares of its runs."""
    axes = sheet.panels(height=0.8 + 0.22 * len(frame))
    names = [f"{name.replace('_', ' ')} ({total})" for name, total in frame.sum(axis=1).items()]
    left = np.zeros(len(frame))
    for cause, how in CAUSES.items():
        width = (frame[cause] / frame.sum(axis=1)).to_numpy()
        axes.barh(names, width, left=left, label=cause, edgecolor=BLACK, linewidth=0.3, **how)
        left += width
    axes.invert_yaxis()
    axes.set(xlabel="share of runs", ylabel="experiment (runs)", xlim=(0, 1))
    sheet.legend([axes], 6)


def claim(frame: pd.DataFrame) -> bool:
    """Of the misses that a noise-free rerun can explain, under a tenth are not explained."""
    total = frame.sum()
    told = total["time"] + total["luck"] + total["luck beyond first order"]
    return bool(total["unexplained"] < 0.1 * told)


def table(frame: pd.DataFrame) -> Table:
    """The counts by experiment and cause."""
    return tabled(frame.reset_index())


def quotes(frame: pd.DataFrame) -> dict[str, float | str]:
    """The counts by cause."""
    return {cause: int(count) for cause, count in frame.sum().items() if cause != "no twin"}
