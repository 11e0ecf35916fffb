"""Runs that miss were mostly too short or met sampling noise, seldom unexplained.

Runs of `dph experiment small-llama` under TRL that were meant to converge, by the cause of a miss: too few
steps, if an expected-gradient run of the same settings misses too; sampling noise, if the run lies within
three predicted deviations of the expected-gradient run; noise beyond first order, if it lies no further off
than reruns on samples of an exact policy. The table has the experiments apart.
"""

import pandas as pd

from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import GREY, SKY, VERMILLION, Sheet

NEEDS = ("laws",)
CAUSES = {
    "matched": "converged",
    "time": "too few steps",
    "noise": "sampling noise",
    "noise beyond first order": "noise beyond first order",
    "unexplained": "unexplained",
    "no expected-gradient run": "no expected-gradient run",
}
"""Words by cause."""


def numbers(records: Records) -> pd.DataFrame:
    """Number of runs within tolerance, and causes of the others' misses, by experiment."""
    runs = records.llama.judged
    cause = runs.why_missed.where(runs.verdict != "matched", "matched")
    counts = pd.crosstab(runs.experiment, cause).reindex(columns=list(CAUSES), fill_value=0)
    return counts.loc[runs.experiment.unique()]


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """One bar per cause with its number of runs."""
    axes, counts = sheet.panels(height=1.8), frame.sum()[[*CAUSES]]
    colors = [
        SKY if cause == "matched" else VERMILLION if cause == "unexplained" else GREY for cause in CAUSES
    ]
    bars = axes.barh([*CAUSES.values()], counts, color=colors)
    axes.bar_label(bars, padding=3, size=9)
    axes.invert_yaxis()
    axes.set(xlabel="runs", xlim=(0, 1.1 * counts.max()))


def claim(frame: pd.DataFrame) -> bool:
    """Fewer than a tenth of the misses with an expected-gradient rerun are unexplained."""
    total = frame.sum()
    explained = total["time"] + total["noise"] + total["noise beyond first order"]
    return bool(total["unexplained"] < 0.1 * explained)


def table(frame: pd.DataFrame) -> Table:
    """Counts by experiment and cause."""
    return tabled(frame.reset_index(), {"experiment": "experiment", **CAUSES})


def quotes(frame: pd.DataFrame) -> dict[str, float | str]:
    """Counts by cause."""
    return {cause: int(count) for cause, count in frame.sum().items() if cause != "no expected-gradient run"}
