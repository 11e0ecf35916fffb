"""Without a penalty KL(base || policy) grows on after KL(policy || base) has settled.

Prompt types share strategies and are trained by exact gradients; means over prompts. GRPO drops strategies:
the reverse KL settles near minus the log of the base's mass on the remaining ones, while the forward KL
counts the lost answers and grows with the log of the steps. DPH-F, with a penalty of coefficient
eta f''(1) = 1 on the prompts that the base solves, bounds both; so do the divergences of the table.
"""

from typing import Any

import numpy as np

from dph_theory.support.table import Table

from ..frames import Records
from ..style import BLUE, PURPLE, Sheet

NEEDS = ("strategies",)
METHODS = {
    **{name: name for name in ("GRPO", "DPH-F", "DPH-JS", "reverse KL on D_pef")},
    "reverse KL on all prompts": "RKL",
}  # Labels by the methods' names in the record.
MEASURES = {"reverse_kl": "KL(policy || base), nats", "forward_kl": "KL(base || policy), nats"}


def numbers(records: Records) -> dict[str, Any]:
    """Steps, and both KL divergences to the base along them, by method."""
    rows = {row["name"]: row for row in records.results("strategies")["methods"]}
    columns = ("step", *(f"{measure}_curve" for measure in MEASURES))
    return {
        name: {column: np.array(rows[method][column]) for column in columns}
        for method, name in METHODS.items()
    }


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """Both KL divergences of GRPO, and those of DPH-F below."""
    axes, last = sheet.panels(height=2.5), numbers["GRPO"]["step"][-1]
    for measure, color, words, at in (
        ("forward_kl", BLUE, "KL(base || policy)", (0.85, 0.93)),
        ("reverse_kl", PURPLE, "KL(policy || base)", (0.97, 0.28)),
    ):
        for name, width in (("GRPO", 2.0), ("DPH-F", 1.0)):
            curves = numbers[name]
            axes.plot(curves["step"], curves[f"{measure}_curve"], color=color, linewidth=width)
        axes.text(*at, words, color=color, ha="right", size=9, transform=axes.transAxes)
    axes.text(0.97, 0.17, "both, DPH-F", ha="right", size=9, transform=axes.transAxes)
    axes.set(xscale="log", xlabel="gradient step", ylabel="nats", xlim=(10, last))


def table(numbers: dict[str, Any]) -> Table:
    """Both divergences at the end and at a quarter of the steps."""
    rows: list[tuple[str | float, ...]] = []
    for name, curves in numbers.items():
        quarter = int(np.searchsorted(curves["step"], curves["step"][-1] / 4))
        rows.append((name, *(float(x) for m in MEASURES for x in curves[f"{m}_curve"][[quarter, -1]])))
    heads = [f"{words}, {when}" for words in MEASURES.values() for when in ("a quarter of the steps", "end")]
    return Table.from_rows(("method", *heads), rows)


def claim(numbers: dict[str, Any]) -> bool:
    """GRPO after a quarter of the steps: forward KL rises over a nat, reverse under .15; others stay."""
    last = {row[0]: np.array(row[1:], dtype=float) for row in table(numbers).rows}
    free = last.pop("GRPO")
    settled = free[1] - free[0] < 0.15 and free[3] - free[2] > 1
    return bool(settled and max(values.max() for values in last.values()) < 0.4)
