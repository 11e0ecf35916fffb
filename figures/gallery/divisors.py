"""What the advantage is divided by decides how many correct answers a run retains.

SmolLM2-135M-Instruct on last digits of products, 24 trained and 24 held out, the probability of every answer
exact; groups of 16 sampled answers, Adam, points every two steps, means over the seeds that reach them.
Pass@256 on trained (left) and on held-out prompts (right) against trained Pass@1, which rises with training.
Advantages are the reward less the group's mean, divided by nothing, by the group's std, or by its mean.
Dashed: with plain k3 at 0.3. Dotted: the base.
"""

import numpy as np
import pandas as pd

from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import BLACK, BLUE, GREY, ORANGE, Sheet

NEEDS = ("pretrained",)
DIVISORS = {"Dr. GRPO": ("nothing", GREY), "GRPO": ("the std", ORANGE), "MaxRL": ("the mean", BLUE)}
"""By method what divides, and its colour."""
KS = (1, 16, 256)
GRID = tuple(round(0.2 + 0.05 * i, 2) for i in range(12))
"""Trained Pass@1."""
MIDDLE = 0.45


def numbers(records: Records) -> pd.DataFrame:
    """A row a setting and trained Pass@1: Pass@k of both kinds of prompts, means over seeds."""
    runs = pd.DataFrame(records.results("pretrained")["advantages"])
    rows = []
    for fields, group in runs.groupby(["method", "kl", "coefficient"], sort=False):
        curves = [np.concatenate(pair, axis=1) for pair in zip(group.trained, group.held_out, strict=True)]
        for first in (curves[0][0, 0], *GRID):
            if all(curve[:, 0].max() >= first for curve in curves):
                means = np.mean([_at(curve, first) for curve in curves], axis=0)
                rows.append((*fields, len(curves), first, *means))
    return pd.DataFrame(rows, columns=["method", "kl", "coefficient", "seeds", "first", *_columns()])


def _columns() -> list[str]:
    return [f"{kind} {k}" for kind in ("trained", "held out") for k in KS]


def _at(curve: np.ndarray, first: float) -> np.ndarray:
    """All measures of a run where its trained Pass@1 first is that, by a straight line between two points."""
    after = max(1, int(np.argmax(curve[:, 0] >= first)))
    before, upper = curve[after - 1 : after + 1]
    return np.asarray(before + (first - before[0]) / (upper[0] - before[0]) * (upper - before))


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """A curve a divisor, with and without a KL, on trained and on held-out prompts."""
    panels = sheet.panels(2)
    for axes, kind in zip(panels, ("trained", "held out"), strict=True):
        for method, (divisor, colour) in DIVISORS.items():
            for kl, line in (("none", "-"), ("k3", "--")):
                rows = frame[(frame.method == method) & (frame.kl == kl)]
                label = f"divided by {divisor}" if kl == "none" else None
                axes.plot(rows["first"], rows[f"{kind} 256"], line, color=colour, marker=".", label=label)
        axes.axhline(frame[f"{kind} 256"].iloc[0], color=BLACK, linestyle=":", linewidth=0.8)
        axes.set(xlabel="Pass@1, trained", ylabel=f"Pass@256, {kind}", ylim=(0, 1.04))
    sheet.legend(panels, 3)


def claim(frame: pd.DataFrame) -> bool:
    """At one trained Pass@1, without a KL: the mean above the std above nothing, on both kinds of prompts."""
    middle = frame[(frame.kl == "none") & (frame["first"] == MIDDLE)].set_index("method").loc[[*DIVISORS]]
    return bool((middle[["trained 256", "held out 256"]].diff().iloc[1:] > 0).all(axis=None))


def table(frame: pd.DataFrame) -> Table:
    """All settings at that Pass@1."""
    middle = frame[frame["first"] == MIDDLE]
    middle = middle.assign(divisor=[DIVISORS[method][0] for method in middle.method])
    names = {"divisor": "divided by", "kl": "KL", "seeds": "seeds"} | {name: name for name in _columns()}
    return tabled(middle, names)
