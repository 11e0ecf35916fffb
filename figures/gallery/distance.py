"""Away from its training prompts GRPO falls below the base; with a KL it falls less.

A pretrained Llama (SmolLM2-135M) trained for twenty steps on products, without a KL and with a forward KL of
coefficient 1: Pass@1 (left) and Pass@16 (right) minus the base's, on the trained prompts, on unseen products,
on sums in words and on open prompts that no run trains (weekdays, colours, fruits, minutes, primes). Means
over five seeds with 95% intervals; the table has the reverse KL and DPH-F. The base solves nearly all sums
and open prompts in 16 draws, so that only Pass@1 can move there.
"""

import numpy as np
import pandas as pd

from dph_theory.coverage import exact_pass_at_k
from dph_theory.support.table import Table

from ..frames import Records, estimates, tabled
from ..style import BLUE, VERMILLION, Sheet, level

NEEDS = ("pretrained",)
OPEN = ("weekdays", "colours", "fruits")
SETS = {
    "trained": ("last digits",),
    "unseen\nproducts": ("last digits, held out",),
    "sums in\nwords": ("sums in words",),
    "open\nprompts": (*OPEN, *(f"{name}, held out" for name in OPEN), "minutes", "primes"),
}
METHODS = {
    ("GRPO", "none", 0.0): "GRPO",
    ("GRPO", "k2", 1.0): "reverse KL",
    ("GRPO", "k3", 1.0): "forward KL",
    ("DPH-F", "none", 0.5): "DPH-F",
}
SHOWN = {"GRPO": ("no KL", VERMILLION), "forward KL": ("with a KL", BLUE)}
K = (1, 16)


def numbers(records: Records) -> pd.DataFrame:
    """Pass@k minus the base's, a row per run, set and k."""
    stored, rows = records.results("pretrained"), []
    for run in stored["runs"]:
        name = METHODS.get((run["run"]["method"], run["run"]["kl"], run["run"]["coefficient"]))
        if run["run"]["experiment"] == "methods" and name:
            for place, tasks in SETS.items():
                for k in K:
                    after, before = (
                        exact_pass_at_k(np.minimum(np.concatenate([m[t]["pass_rate"] for t in tasks]), 1), k)
                        for m in (run["tasks"], stored["base"])
                    )
                    rows.append((name, place, k, float(after.mean() - before.mean())))
    return pd.DataFrame(rows, columns=["method", "set", "k", "gap"])


def gaps(frame: pd.DataFrame, k: int, method: str) -> pd.DataFrame:
    """Mean gap over seeds with its interval, by set."""
    return estimates(frame[(frame.k == k) & (frame.method == method)].groupby("set", sort=False), "gap")


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """One panel per k; sets from left to right by distance, one line per method."""
    panels = sheet.panels(2)
    for axes, k in zip(panels, K, strict=True):
        place = K.index(k)  # The labels stand where the lines are apart.
        lines = {method: gaps(frame, k, method) for method in SHOWN}
        highest = max(SHOWN, key=lambda method: lines[method]["mean"].iloc[place])
        for shift, (method, (words, color)) in zip((-0.04, 0.04), SHOWN.items(), strict=True):
            line = lines[method]
            errors = [line["mean"] - line.low, line.high - line["mean"]]
            axes.errorbar(
                np.arange(len(SETS)) + shift, line["mean"], errors, capsize=2, color=color, marker="o"
            )
            at, offset = (place, line["mean"].iloc[place]), (8, 8 if method == highest else -15)
            axes.annotate(words, at, offset, textcoords="offset points", color=color, size=9)
        level(axes, 0)
        axes.set_xticks(range(len(SETS)), [*SETS])
        axes.set_ylabel(f"Pass@{k} minus the base's")


def claim(frame: pd.DataFrame) -> bool:
    """GRPO's two falls are beyond the seeds' interval, and both KLs have smaller ones."""
    places = [*SETS]
    for k, place in ((1, places[2]), (16, places[1])):
        free = gaps(frame, k, "GRPO").loc[place]
        penalised = [gaps(frame, k, method)["mean"][place] for method in ("reverse KL", "forward KL")]
        if not (free.high < 0 and min(penalised) > free["mean"] / 2):
            return False
    return True


def table(frame: pd.DataFrame) -> Table:
    """Mean gaps by method, k and set."""
    wide = frame.pivot_table(index=["method", "k"], columns="set", values="gap", sort=False)
    flat = wide.rename(columns=lambda name: name.replace("\n", " ")).reset_index()
    return tabled(flat)
