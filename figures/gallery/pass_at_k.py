"""Without a penalty Pass@k falls below the base's as k grows; with a strong one most of it is retained.

Pass@k is averaged over prompts; the penalty is a divergence from the base, added to the loss with weight eta,
and its coefficient is eta f''(1). Left: prompt types that share strategies, before training (base) and after,
by exact gradients, with penalties of coefficient 1 on D_pef, the prompts that the base solves; GRPO has no
penalty, RKL has one on all prompts. Right: a tiny transformer's Pass@16 minus its base's, by enumeration, on
training (filled) and held-out prompts (open), with coefficient 0.3 (GRPO: k3 at .04 as published; DAPO:
none); means over seeds with 95% intervals, paired by seed.
"""

from typing import Any

import numpy as np
import pandas as pd

from dph_theory.support.table import Table

from ..frames import Records, means
from ..style import GREY, Sheet, curve, dot, look, rows, ticks, written

NEEDS = ("strategies", "styles")
ANCHORED = ("DPH-F", "DPH-JS", "reverse KL on D_pef")
EVERYWHERE = "reverse KL on all prompts"
STYLES = ("GRPO", "DAPO", "RKL", "DPH-F", "DPH-JS")
SHOWN = 16
SPLITS = {"train": "training prompts", "held_out": "held-out prompts"}


def numbers(records: Records) -> dict[str, Any]:
    """Strategies: one column per method at the compared coefficient; the transformer's changes by run."""
    exact, styles = records.results("strategies"), records.styles
    named = {method["name"]: method["pass_at_draws"] for method in exact["methods"]}
    curves = {"base": exact["base"]["pass_at_draws"], "GRPO": named["GRPO"]}
    curves |= {"RKL": named[EVERYWHERE], **{name: named[name] for name in ANCHORED}}
    k = records.results("styles")["k"]
    base = styles[styles.name == "base"].set_index(["split", "seed"])[k]
    runs = styles[styles.main & styles.name.isin(STYLES)]
    changes = runs.set_index(["name", "split", "seed"])[k].sub(base, axis=0).reset_index()
    return {"strategies": pd.DataFrame(curves, index=exact["draws"]), "changes": changes, "k": k}


def mean_changes(numbers: dict[str, Any], split: str) -> dict[str, tuple[np.ndarray, ...]]:
    """Mean change along k with its interval, by method."""
    changes = numbers["changes"][numbers["changes"].split == split]
    return {name: means(changes.loc[changes["name"] == name, numbers["k"]]) for name in STYLES}


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """Strategies, exact; the tiny transformer's changes, one row per method."""
    left, right = sheet.panels(2, height=2.6)
    for name, values in numbers["strategies"].items():
        curve(left, values.index, values, label=written(str(name)), **look(str(name)))
    left.set(title="Strategies, exact", xlabel=r"samples $k$", ylabel=r"Pass@$k$")
    ticks(left, (1, 4, 16, 64, 256), base=2)
    right.axvline(0, **look("base", marker="", linewidth=0.8))
    at = numbers["k"].index(SHOWN)
    for split, shift in zip(SPLITS, (-0.17, 0.17), strict=True):
        for row, (name, change) in enumerate(mean_changes(numbers, split).items()):
            estimate = [float(values[at]) for values in change]
            dot(right, estimate, row + shift, look(name), filled=split == "train")
    rows(right, STYLES)
    right.set(title="Tiny transformer", xlabel=f"Pass@{SHOWN} minus the base's")
    for shade, words in zip((GREY, "white"), SPLITS.values(), strict=True):
        right.plot([], [], "o", color=GREY, markerfacecolor=shade, label=words)
    sheet.legend([left, right], 4)


def table(numbers: dict[str, Any]) -> Table:
    """Smallest k from which on the Pass@k of each method is below the base's."""
    exact = numbers["strategies"]
    gains = {("strategies", name): (exact[name] - exact["base"]).items() for name in exact if name != "base"}
    for split, words in SPLITS.items():
        for name, change in mean_changes(numbers, split).items():
            gains[f"tiny transformer, {words}", name] = zip(numbers["k"], change[0], strict=True)
    shown = [(*names, next((k for k, gain in along if gain < 0), None)) for names, along in gains.items()]
    return Table.from_rows(("model", "method", "Pass@k is below the base's from k on"), shown)


def claim(numbers: dict[str, Any]) -> bool:
    """At k = 16, strategies: penalties above the base above GRPO; transformer: DAPO below, others near."""
    last = numbers["strategies"].loc[16]
    as_titled = (last.drop(["base", "GRPO"]) > last["base"]).all() and last["base"] > last["GRPO"]
    at = numbers["k"].index(SHOWN)
    for split in SPLITS:
        change = mean_changes(numbers, split)
        as_titled &= change["DAPO"][2][at] < 0 and min(change[name][0][at] for name in STYLES[2:]) > -0.1
    return bool(as_titled)
