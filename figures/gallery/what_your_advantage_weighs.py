"""GRPO weighs rare and frequent success alike; MaxRL and PKPO weigh rare success.

The weight alpha_G(V) that five published advantages over groups of eight answers give the gradient of a
prompt's pass rate V: their expected gradient is alpha_G(V) grad V, and Dr. GRPO's is the pass rate's own.
Values are exact, by every outcome of a group, and of advantages that depend on the other groups of a batch
means over simulated batches; the table has every published advantage.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.ticker import FixedLocator, NullFormatter
from scipy.special import expit

from dph_theory.support.table import Cell, Table

from ..frames import Records
from ..style import BLACK, BLUE, GREEN, ORANGE, VERMILLION, Sheet

GROUP, V = 8, expit(np.linspace(-4.6, 4.6, 41))
"""Answers a prompt; pass rates, evenly in log odds."""
DRAWN = {
    "GRPO, sample std": (VERMILLION, "-"),
    "Dr. GRPO, mean of all": (BLACK, ":"),
    "MaxRL": (BLUE, "--"),
    "PKPO, k = 4": (GREEN, "-."),
    "pass@4 training": (ORANGE, (0, (5, 1))),
}


def numbers(records: Records) -> pd.DataFrame:
    """The weights of every published advantage in groups of GROUP, by every outcome: a column each."""
    from dph_theory.audit.advantage import tabulate, weight_of
    from dph_theory.losses.advantages import FORMS

    weights: dict[str, Any] = {
        form.name: weight_of(tabulate(form.advantage, GROUP), V, drops_equal_groups=form.drops)
        for form in FORMS
        if form.largest_group >= GROUP
    }
    return pd.DataFrame(weights, index=V)


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """Five curves against the pass rate."""
    axes = sheet.panels(height=2.7)
    for name, (color, line) in DRAWN.items():
        label = name if "PKPO" in name else name.partition(",")[0]
        axes.plot(V, frame[name].where(frame[name] > 0), linestyle=line, color=color, label=label)
    axes.set(xscale="logit", yscale="log", ylim=(0.02, 100), xlim=(V[0], V[-1]))
    axes.xaxis.set_major_locator(FixedLocator([0.01, 0.1, 0.5, 0.9, 0.99]))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xticklabels([".01", ".1", ".5", ".9", ".99"])
    axes.set(xlabel="pass rate $V$ of a prompt", ylabel=r"weight $\alpha_G(V)$ on $\nabla V$")
    sheet.legend([axes], 5)


def table(frame: pd.DataFrame) -> Table:
    """The weight on the rarest and on the most frequent success, and at one half."""
    places = (0, len(V) // 2, len(V) - 1)
    rows: list[list[Cell]] = [[str(name), *frame[name].iloc[list(places)].tolist()] for name in frame]
    return Table.from_rows(("advantage", *(f"V = {V[place]:.2g}" for place in places)), rows)


def claim(frame: pd.DataFrame) -> bool:
    """GRPO weighs both ends alike; MaxRL and PKPO weigh rare success thrice as much and more."""
    ends = frame.iloc[[0, -1]].to_numpy()
    first, last = (dict(zip(frame.columns, row, strict=True)) for row in ends)
    equal = np.isclose(first["GRPO, sample std"], last["GRPO, sample std"])
    return bool(equal and all(first[name] > 3 * last[name] for name in ("MaxRL", "PKPO, k = 4")))
