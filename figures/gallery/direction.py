"""Every strong penalty buys Pass@16 with Pass@1; of the weak ones RKL and DPH-F do.

A small Llama of two layers is trained on ten prompts with one text, of three types, each solved only by its
own strategy; every answer is enumerated. The methods share the exploration of DAPO, except GRPO, and the
coefficient eta f''(1) of their divergence: 0.05 for small marks, 0.3 for large ones. RKL is k3 without
importance weight, reverse KL is k3 with it. Axes: exact final Pass@1 and Pass@16 minus those of DAPO with the
same seed (the cross, on which three of the weak penalties lie); means with paired 95% intervals.
"""

from typing import Any

import numpy as np
import pandas as pd

from dph_theory.divergences import FORWARD_KL, JENSEN_SHANNON, alpha_divergence
from dph_theory.intervals import Estimate, mean_interval
from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import GREY, Sheet, look, written

NEEDS = ("laws",)
EXPERIMENT, BASELINE = "direction", "DAPO"
REHEARSED = {
    "log_u": ("DPH-F", FORWARD_KL.curvature),
    "js": ("DPH-JS", JENSEN_SHANNON.curvature),
    "alpha": ("DPH-alpha", alpha_divergence(0.2).curvature),
}
"""Rehearsed divergence: the method's name, and f''(1)."""
PENALISED = {"none": "DAPO", "k3": "RKL", "k3_corrected": "reverse KL"}
PARTS = ("change", "low", "high")
SIZES = {True: 3.0, False: 6.0}  # Size of a mark, by whether the coefficient is the smallest.
MEASURES = {"pass_rate": "Pass@1", "pass_at_16": "Pass@16"}


def numbers(records: Records) -> pd.DataFrame:
    """One row per method and coefficient (nan: none): measures, also minus the baseline's of the seed."""
    runs = records.llama.runs_of(EXPERIMENT).copy()
    runs["method"], runs["strength"] = zip(*map(_method, runs.itertuples()), strict=True)
    base = runs[runs.method == BASELINE].set_index("seed")
    rows = []
    for (method, strength), group in runs.groupby(["method", "strength"], sort=False, dropna=False):
        line = {"method": method, "strength": strength, "seeds": len(group)}
        paired = group.set_index("seed")
        for measure, words in MEASURES.items():
            change = mean_interval((paired[measure] - base[measure]).dropna().to_numpy())
            line[words] = paired[measure].mean()
            line |= zip((f"{words} {part}" for part in PARTS), map(float, change), strict=True)
        rows.append(line)
    return pd.DataFrame(rows)


def _method(run: Any) -> tuple[str, float]:
    if isinstance(run.rehearsed, str):
        name, curvature = REHEARSED[run.rehearsed]
        return name, round(run.beta * curvature, 6)
    return (PENALISED[run.form], run.beta or np.nan) if run.dapo else ("GRPO", np.nan)


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """Pass@16 over Pass@1, both minus the baseline's, with intervals; larger marks: larger coefficients."""
    shown = frame[frame.method != BASELINE]
    strengths = sorted(shown.strength.dropna().unique())
    axes = sheet.panels(height=2.8)
    axes.plot(0, 0, "x", color=GREY, label=BASELINE)
    for row in shown.to_dict("records"):
        style, weak = look(row["method"]), row["strength"] == strengths[0]
        across, up = ([row[f"{words} {part}"] for part in PARTS] for words in MEASURES.values())
        axes.plot(across[1:], [up[0]] * 2, color=style["color"], linewidth=0.8)
        axes.plot([across[0]] * 2, up[1:], color=style["color"], linewidth=0.8)
        size, label = SIZES[weak] + 1.5 * (style["marker"] == "*"), None if weak else written(row["method"])
        mark = {"color": style["color"], "markersize": size, "label": label}
        axes.plot(across[0], up[0], style["marker"], **mark)
    for strength, size in zip(strengths, (SIZES[True], SIZES[False]), strict=True):
        axes.plot([], [], "o", color=GREY, markersize=size, label=f"coefficient {strength:g}")
    axes.set(xlabel=f"Pass@1 less {BASELINE}'s", ylabel=f"Pass@16 less {BASELINE}'s")
    sheet.legend([axes], 5)


def claim(frame: pd.DataFrame) -> bool:
    """The methods that trade Pass@1 for Pass@16 are all the strong penalties and two weak ones."""
    moved = frame[frame.strength.notna() & (frame["Pass@1 high"] < -0.005) & (frame["Pass@16 low"] > 0.05)]
    ends = (frame.strength.min(), frame.strength.max())
    weak, strong = (set(moved.method[moved.strength == at]) for at in ends)
    return weak == {"RKL", "DPH-F"} and strong == set(frame.method[frame.strength.notna()])


def table(frame: pd.DataFrame) -> Table:
    """Measures with their differences from the baseline."""
    shown = frame.rename(columns={"strength": "eta f''(1)"})
    for words in MEASURES.values():
        parts = frame[[f"{words} {part}" for part in PARTS]].to_numpy()
        shown[f"{words} less {BASELINE}'s"] = [Estimate(*map(float, row)) for row in parts]
    names = ["method", "eta f''(1)", "seeds"]
    names += [name for words in MEASURES.values() for name in (words, f"{words} less {BASELINE}'s")]
    return tabled(shown, dict(zip(names, names, strict=True)), best=MEASURES.values())
