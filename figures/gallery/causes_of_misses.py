"""Runs that miss were mostly too short or met sampling noise, seldom unexplained.

Runs of `dph experiment small-llama` under TRL that were meant to converge, by experiment. Causes of a miss:
too few steps, if an expected-gradient run of the same settings misses too; sampling noise, if the run lies
within three predicted deviations of the expected-gradient run; noise beyond first order, if it lies no
further off than reruns on samples of an exact policy; no rerun, if there is no such run.
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
# The setting that an experiment varies.
EXPERIMENTS = {"which_policy": "forms of the KL term", "limits": "beta towards 0", "samplers": "samplers"}


def numbers(records: Records) -> pd.DataFrame:
    """Number of runs within tolerance, and causes of the others' misses, by experiment."""
    runs = records.llama.judged
    cause = runs.why_missed.where(runs.verdict != "matched", "matched")
    counts = pd.crosstab(runs.experiment, cause).reindex(columns=list(CAUSES), fill_value=0)
    return counts.loc[runs.experiment.unique()]


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """One bar per experiment, in shares of its runs."""
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
    """Fewer than a tenth of the misses with an expected-gradient rerun are unexplained."""
    total = frame.sum()
    explained = total["time"] + total["noise"] + total["noise beyond first order"]
    return bool(total["unexplained"] < 0.1 * explained)


def table(frame: pd.DataFrame) -> Table:
    """Counts by experiment and cause."""
    names = {cause: style["label"] for cause, style in CAUSES.items()}
    return tabled(frame.reset_index(), {"experiment": "experiment", **names})


def quotes(frame: pd.DataFrame) -> dict[str, float | str]:
    """Counts by cause."""
    return {cause: int(count) for cause, count in frame.sum().items() if cause != "no expected-gradient run"}
