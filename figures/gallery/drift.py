"""Without a KL, sampling noise alone drives equal correct answers apart, about as predicted.

A small Llama trained by TRL without a KL on answers of one token, of which two (or four) are correct and
equally likely, up to a pass rate of about .9: the exact objective leaves them equal, sampling does not. A
point a setting (the base's pass rate, the optimiser, groups of answers, advantages over their std): the
deviation over seeds of the log odds of one of them, with its 95% interval, over that predicted before the
runs from one expected-gradient run and its adjoint. Every interval contains 1, but most of the points lie
above it: the first order understates the noise a little.
"""

import numpy as np
import pandas as pd
from scipy.special import logit
from scipy.stats import chi2

from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import BLUE, GREEN, SKY, VERMILLION, Sheet, level

NEEDS = ("laws",)
EXPERIMENT, CONFIDENCE = "drift", 0.95
SETTING = ["task", "optimiser", "baseline", "scale", "group_size", "constant", "learning_rate"]
BASELINES = {
    "none": ("no baseline", VERMILLION, "o"),
    "mean": ("group mean", BLUE, "s"),
    "leave_one_out": ("leave-one-out mean", SKY, "^"),
    "one": ("constant 1", GREEN, "D"),
}
"""What is subtracted from rewards: in words, and how it is drawn."""
TASKS = {"one-word-30": "rate 0.3", "one-word-10": "rate 0.1", "one-word-four": "rate 0.3, four"}
"""The base."""


def numbers(records: Records) -> pd.DataFrame:
    """A row a setting: the deviation over seeds of the log odds of the favourite, predicted and measured.

    low, high: the 95% interval of chi squared of the measured one.
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
    """Measured over predicted with its interval against predicted, a point a setting."""
    axes = sheet.panels()
    for name, (words, color, marker) in BASELINES.items():
        own = frame[frame.baseline == name]
        low, high, measured = (own[column] / own.predicted for column in ("low", "high", "measured"))
        axes.vlines(own.predicted, low, high, color=color, linewidth=1)
        axes.plot(own.predicted, measured, marker, color=color, label=words, markersize=5)
    level(axes, 1)
    axes.set(xscale="log", ylim=0, xlabel="std over seeds, predicted", ylabel="measured / predicted")
    sheet.legend([axes], 4)


def table(frame: pd.DataFrame) -> Table:
    """Each setting's deviation, predicted and measured, and where the interval lies."""
    names = {name: name for name in ("baseline", "seeds", "predicted", "measured")}
    names |= {"frozen": "frozen kernel", "tabular": "tabular formula", "low": "from", "high": "to"}
    return tabled(frame, {"words": "setting", **names, "pass_rate": "pass rate"})


def within(frame: pd.DataFrame) -> int:
    """Number of settings whose prediction lies in the interval of the measured deviation."""
    return int(frame.predicted.between(frame.low, frame.high).sum())


def claim(frame: pd.DataFrame) -> bool:
    """Every interval holds the prediction, and most measured deviations lie above it."""
    above = (frame.measured > frame.predicted).mean() > 0.5
    return bool(above and within(frame) == len(frame))


def quotes(frame: pd.DataFrame) -> dict[str, float | str]:
    """How many settings hold their prediction."""
    return {"within": within(frame), "settings": len(frame)}
