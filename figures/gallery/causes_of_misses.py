"""Runs that miss were mostly too short or met sampling noise, seldom unexplained.

Runs of `dph experiment small-llama`, under TRL, that were to converge, by experiment. Of a miss it is
said: too few steps, where an expected-gradient run of the same settings misses too; sampling noise, where the
run lies within three predicted deviations of the expected-gradient run; noise beyond first order, where it
lies no further off than reruns on samples of an exact policy; no rerun, where there is no such run.
"""

from typing import Any

import numpy as np
import pandas as pd

from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import BLACK, LIGHT, ORANGE, SKY, VERMILLION, YELLOW, Sheet

NEEDS = ("laws",)
CAUSES: dict[str, dict[str, Any]] = {
    "matched": {"label": "converged", "facecolor": LIGHT},
    "time": {"label": "too few steps", "facecolor": SKY},
    "noise": {"label": "sampling noise", "facecolor": ORANGE, "hatch": "////"},
    "noise beyond first order": {"label": "noise beyond first order", "facecolor": YELLOW, "hatch": "----"},
    "unexplained": {"label": "unexplained", "facecolor": VERMILLION, "hatch": "xxxx"},
    "no expected-gradient run": {"label": "no rerun", "facecolor": "white", "hatch": ".."},
}
EXPERIMENTS = {"which_policy": "forms of the KL term", "limits": "beta towards 0", "samplers": "samplers"}
"""What an experiment varies."""


def numbers(records: Records) -> pd.DataFrame:
    """By experiment, how many of its runs held and what the others' misses come from."""
    runs = records.llama.judged
    cause = runs.why_missed.where(runs.verdict != "matched", "matched")
    counts = pd.crosstab(runs.experiment, cause).reindex(columns=list(CAUSES), fill_value=0)
    return counts.loc[runs.experiment.unique()]


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """A bar an experiment, shares of its runs."""
    axes = sheet.panels(height=1.2 + 0.22 * len(frame))
    words = [EXPERIMENTS.get(str(name), str(name)) for name in frame.index]
    names = [f"{what} ({total})" for what, total in zip(words, frame.sum(axis=1), strict=True)]
    left = np.zeros(len(frame))
    for cause, style in CAUSES.items():
        width = (frame[cause] / frame.sum(axis=1)).to_numpy()
        axes.barh(names, width, left=left, edgecolor=BLACK, linewidth=0.3, **style)
        left += width
    axes.invert_yaxis()
    axes.set(xlabel="share of runs", ylabel="varied (runs)", xlim=(0, 1))
    sheet.legend([axes], 3)


def claim(frame: pd.DataFrame) -> bool:
    """Of the misses that an expected-gradient rerun can explain, under a tenth are not explained."""
    total = frame.sum()
    explained = total["time"] + total["noise"] + total["noise beyond first order"]
    return bool(total["unexplained"] < 0.1 * explained)


def table(frame: pd.DataFrame) -> Table:
    """The counts by experiment and cause."""
    names = {cause: style["label"] for cause, style in CAUSES.items()}
    return tabled(frame.reset_index(), {"experiment": "experiment", **names})


def quotes(frame: pd.DataFrame) -> dict[str, float | str]:
    """The counts by cause."""
    return {cause: int(count) for cause, count in frame.sum().items() if cause != "no expected-gradient run"}
