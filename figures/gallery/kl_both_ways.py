"""Without a penalty KL(base || policy) grows on after KL(policy || base) has settled.

Prompt types share strategies and are trained by exact gradients; means over prompts. GRPO drops strategies:
the reverse KL (left) settles near minus the log of the base's mass on the remaining ones, while the forward
KL (right) counts the lost answers and grows with the log of the steps. Penalties of coefficient eta f''(1) =
1 on D_pef, the prompts that the base solves, bound both, whichever the divergence. RKL has its penalty on all
prompts.
"""

from typing import Any

import numpy as np

from dph_theory.support.table import Table

from ..frames import Records
from ..style import Sheet, curve, look, written

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
    """Reverse KL and forward KL, one line per method."""
    panels = sheet.panels(2, height=2.3)
    for axes, (measure, words) in zip(panels, MEASURES.items(), strict=True):
        for place, (name, curves) in enumerate(numbers.items()):
            style = look(name, label=written(name), markevery=(0.05 * place, 0.25))
            curve(axes, curves["step"], curves[f"{measure}_curve"], **style)
        axes.set(xscale="symlog", xlabel="gradient step", ylabel=words, xlim=(0, numbers["GRPO"]["step"][-1]))
    sheet.legend([panels[0]], 5)


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
