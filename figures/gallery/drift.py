"""Without a KL, sampling noise alone drives equal correct answers apart, about as predicted.

A small Llama is trained by TRL without a KL on answers of one token, of which two (or four) are correct and
equally likely, up to a pass rate of about .9: the exact objective leaves them equal, sampling does not. One
point per setting (base pass rate, optimiser, baseline, groups of answers, std-normalised advantages) shows
the standard deviation over seeds of one answer's log odds, with its 95% interval, divided by the prediction
made before the runs from one expected-gradient run and its adjoint. Every interval contains 1, but most
points lie above it: the first order understates the noise slightly.
"""

import numpy as np
import pandas as pd
from scipy.special import logit
from scipy.stats import chi2

from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import BLUE, GREY, Sheet, level

NEEDS = ("laws",)
EXPERIMENT, CONFIDENCE = "drift", 0.95
SETTING = ["task", "optimiser", "baseline", "scale", "group_size", "constant", "learning_rate"]
# Words for the base.
TASKS = {"one-word-30": "rate 0.3", "one-word-10": "rate 0.1", "one-word-four": "rate 0.3, four"}


def numbers(records: Records) -> pd.DataFrame:
    """One row per setting: deviation over seeds of the favourite's log odds, predicted and measured.

    low, high: the chi-squared 95% interval of the measured deviation.
    """
    runs = records.llama.runs_of(EXPERIMENT)
    runs = runs.assign(odds=logit(runs.favourite_share.astype(float)))
    frame = runs.groupby(SETTING, sort=False).agg(
        seeds=("odds", "size"),
        measured=("odds", "std"),
        predicted=("odds_deviation", "first"),
        frozen=("odds_deviation_frozen_kernel", "first"),
        tabular=("odds_deviation_tabular_formula", "first"),
        pass_rate=("pass_rate", "mean"),
        groups=("groups", "first"),
    )
    frame = frame[frame.seeds > 2].reset_index()
    free = frame.seeds - 1
    for name, tail in (("low", (1 + CONFIDENCE) / 2), ("high", (1 - CONFIDENCE) / 2)):
        frame[name] = np.sqrt(free / chi2.ppf(tail, free)) * frame.measured
    frame["words"] = frame.apply(_words, axis=1)
    return frame.sort_values("seeds", ascending=False, kind="stable")


def _words(row: pd.Series) -> str:
    words = [TASKS[row.task], {"sgd": "SGD", "adam": "Adam"}[row.optimiser]]
    words += [f"{row.groups:.0f} x {row.group_size:.0f}"] if row.groups > 1 else []
    words += ["by std"] if row.scale == "group" else []
    return ", ".join([*words, *([] if row.constant else ["falling rate"])])


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """Measured over predicted deviation with its interval, against predicted deviation, by setting."""
    axes = sheet.panels()
    low, high, measured = (frame[column] / frame.predicted for column in ("low", "high", "measured"))
    axes.vlines(frame.predicted, low, high, color=BLUE, linewidth=1)
    axes.plot(frame.predicted, measured, "o", color=BLUE, markersize=5)
    level(axes, 1)
    axes.text(0.003, 1.04, "as predicted", color=GREY, size=9)
    axes.set(
        xscale="log", ylim=0, ylabel="measured / predicted", xlabel="predicted std over seeds of the log odds"
    )


def table(frame: pd.DataFrame) -> Table:
    """Predicted and measured deviation of each setting, and its interval."""
    names = {name: name for name in ("baseline", "seeds", "predicted", "measured")}
    names |= {"frozen": "frozen kernel", "tabular": "tabular formula", "low": "from", "high": "to"}
    return tabled(frame, {"words": "setting", **names, "pass_rate": "pass rate"})


def within(frame: pd.DataFrame) -> int:
    """Number of settings whose prediction lies in the interval of the measured deviation."""
    return int(frame.predicted.between(frame.low, frame.high).sum())


def claim(frame: pd.DataFrame) -> bool:
    """Every interval contains the prediction, and most measured deviations lie above it."""
    above = (frame.measured > frame.predicted).mean() > 0.5
    return bool(above and within(frame) == len(frame))


def quotes(frame: pd.DataFrame) -> dict[str, float | str]:
    """Number of settings whose interval contains the prediction."""
    return {"within": within(frame), "settings": len(frame)}
