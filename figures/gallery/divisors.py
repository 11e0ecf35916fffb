"""The divisor of the advantage decides how many correct answers a run retains.

SmolLM2-135M-Instruct on last digits of products, 24 trained and 24 held out, with the exact probability of
every answer; sampled answers, Adam, means over the seeds that reach a point. Pass@256 on trained (left) and
on held-out prompts (middle) is shown against trained Pass@1, which rises with training, in groups of 16;
dashed lines have k3 without importance weight at 0.3, the dotted line is the base. Advantages are the reward
minus the group's mean, divided by nothing, by the group's std, or by its mean. Right: held-out Pass@256 at a
trained Pass@1 of 0.45 by group size; a group's mean and std cannot resolve pass rates below one over its
size.
"""

import numpy as np
import pandas as pd

from dph_theory.support.settings_text import settings_text
from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import BLACK, BLUE, GREY, ORANGE, Sheet, ticks

NEEDS = ("pretrained",)
# Divisor and colour by method.
DIVISORS = {"Dr. GRPO": ("nothing", GREY), "GRPO": ("the std", ORANGE), "MaxRL": ("the mean", BLUE)}
LAST = ("trained 1, last step", "held out 256, last step")
COLUMNS = [f"{kind} {k}" for kind in ("trained", "held out") for k in (1, 16, 256)]
GRID = tuple(round(0.2 + 0.05 * i, 2) for i in range(12))  # Trained Pass@1.
SETTING = ["task", "model", "method", "kl", "coefficient", "anchors", "group", "power", "rates"]
SETTING += ["learning_rate"]
_UNSAID = {"optimiser": "adam", "rank": None, "picked": "at random", "answers": None, "measured_after": 0}
USUAL = {"task": "last digits", "model": "", "anchors": 0, "rates": "", "learning_rate": 1e-5}


def numbers(records: Records) -> pd.DataFrame:
    """One row per setting and trained Pass@1: Pass@k on both prompt sets, steps, means over seeds."""
    runs = pd.DataFrame(records.results("pretrained")["advantages"])
    runs = runs.fillna({"model": "", "rates": ""})
    rows = []
    for fields, group in runs.groupby([*SETTING, "compared_at"], sort=False):
        columns = zip(group.trained, group.held_out, group.steps, strict=True)
        curves = [np.column_stack(of_run) for of_run in columns]
        last = np.mean([curve[-1, [0, len(COLUMNS) - 1]] for curve in curves], axis=0)
        for first in (curves[0][0, 0], *GRID):
            if all(curve[:, 0].max() >= first for curve in curves):
                means = np.mean([_at(curve, first) for curve in curves], axis=0)
                rows.append((*fields, len(curves), first, *means, *last))
    names = [*SETTING, "compared_at", "seeds", "first", *COLUMNS, "steps", *LAST]
    return pd.DataFrame(rows, columns=names)


def _at(curve: np.ndarray, first: float) -> np.ndarray:
    """Measures of a run when its trained Pass@1 first reaches `first`, interpolated linearly."""
    after = max(1, int(np.argmax(curve[:, 0] >= first)))
    before, upper = curve[after - 1 : after + 1]
    return np.asarray(before + (first - before[0]) / (upper[0] - before[0]) * (upper - before))


def usual(frame: pd.DataFrame) -> pd.DataFrame:
    """Runs on the figure's task and model, without anchors and weights from counts."""
    return frame[(frame[[*USUAL]] == pd.Series(USUAL)).all(axis=1) & frame.method.isin(DIVISORS)]


def by_group(frame: pd.DataFrame, method: str) -> pd.DataFrame:
    """Runs without a KL at the compared trained Pass@1, one row per group size."""
    rows = usual(frame)
    rows = rows[(rows.method == method) & (rows.kl == "none") & (rows["first"] == rows.compared_at)]
    return rows.sort_values("group")


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """One curve per divisor, with and without a KL, on trained and on held-out prompts; and by group size."""
    panels, of_sixteen = sheet.panels(3), usual(frame)
    of_sixteen = of_sixteen[of_sixteen.group == 16]
    for axes, kind in zip(panels, ("trained", "held out"), strict=False):
        for method, (divisor, colour) in DIVISORS.items():
            for kl, line in (("none", "-"), ("k3", "--")):
                rows = of_sixteen[(of_sixteen.method == method) & (of_sixteen.kl == kl)]
                label = f"divided by {divisor}" if kl == "none" else None
                axes.plot(rows["first"], rows[f"{kind} 256"], line, color=colour, marker=".", label=label)
        axes.axhline(of_sixteen[f"{kind} 256"].iloc[0], color=BLACK, linestyle=":", linewidth=0.8)
        axes.set(xlabel="Pass@1, trained", ylabel=f"Pass@256, {kind}", ylim=(0, 1.04))
    for method, (_, colour) in DIVISORS.items():
        rows = by_group(frame, method)
        panels[2].plot(rows.group, rows["held out 256"], color=colour, marker="o")
    ticks(panels[2], (4, 16, 64), base=2)
    panels[2].set(xlabel="answers in a group", ylabel="Pass@256, held out", ylim=(0, 1.04))
    sheet.legend(panels, 3)


def claim(frame: pd.DataFrame) -> bool:
    """At one trained Pass@1, without a KL, Pass@256 ranks mean, std, nothing; larger groups have more."""
    ends = pd.concat([by_group(frame, method) for method in DIVISORS])
    middle = ends[ends.group == 16].set_index("method").loc[[*DIVISORS]]
    rising = [by_group(frame, method)["held out 256"].is_monotonic_increasing for method in ("GRPO", "MaxRL")]
    return bool((middle[["trained 256", "held out 256"]].diff().iloc[1:] > 0).all(axis=None)) and all(rising)


def table(frame: pd.DataFrame) -> Table:
    """All settings at the trained Pass@1 of their task, the figure's settings first."""
    rows = frame[frame["first"] == frame.compared_at]
    rows = rows.assign(
        setting=[settings_text(_UNSAID | row) for row in rows.to_dict("records")],
        other=~rows.index.isin(usual(rows).index),
    ).sort_values(["other", "model", "task"], kind="stable")
    names = {"task": "task", "setting": "setting", "seeds": "seeds", "first": "at", "steps": "steps"}
    return tabled(rows, names | {name: name for name in (*COLUMNS, *LAST) if name != "trained 1"})
