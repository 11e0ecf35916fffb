"""Gradients at the base predict how Pass@k falls on prompts that are not trained.

SmolLM2-135M-Instruct, last digits of products, 24 trained, 24 held out; nothing is fitted. Left: Pass@256 on
held-out prompts after training, predicted from the base's kernel of answers and found, a point a method and
strength, means over seeds; the star is the base, where each prompt taken alone would leave all points.
Middle: Pass@k of the base, and after GRPO without and with a forward KL, found (marks) and predicted (lines).
Right: the kernel, cosines of the gradients of the log odds of a correct answer, trained prompts first.
"""

from typing import Any

import numpy as np
import pandas as pd

from dph_theory.support.table import Table

from ..frames import Records
from ..style import Sheet, look

NEEDS = ("pretrained",)
TASK, K = "last digits", (1, 16, 256)
KERNEL = "last-digits+weekdays-by-example+months-by-example+rain-by-example+colours-by-example"
FREE, FORWARD = "GRPO", "GRPO, 1"
WHAT = ("base", "forecast", "interpolated", "found", "found_spread", "trained_found")
LEAST = {"correlation": 0.9, "rms": 0.06}
"""What the title asks of the predictions."""


def numbers(records: Records) -> dict[str, Any]:
    """A row a setting with its predictions, and the kernel of the last digits."""
    found = records.results("pretrained")
    rows = [
        {
            "task": held["tasks"][0],
            "mixed": len(held["tasks"]) > 1,
            "setting": held["setting"],
            "seeds": held["seeds"],
        }
        | {f"{what} {k}": held[what][i] for what in WHAT for i, k in enumerate(K)}
        for held in found["forecasts"]
    ]
    kernel = found["kernels"][KERNEL]
    shown = [i for i, name in enumerate(kernel["sets"]) if name.startswith(TASK)]
    return {"settings": pd.DataFrame(rows), "cosines": np.array(kernel["cosines"])[np.ix_(shown, shown)]}


def methods(found: dict[str, Any]) -> pd.DataFrame:
    """The methods at their strengths, all weights trained by Adam at 1e-5 on the mixture."""
    frame = found["settings"]
    other = frame.setting.str.contains("Adam|SGD|LoRA|kernel|at random|by kernel|least coupled")
    return frame[(frame.task == TASK) & frame.mixed & ~other]


def agreement(found: dict[str, Any]) -> dict[str, float]:
    """Of held-out Pass@256 over the methods: the correlation of predicted with found, mean and rms error."""
    frame = methods(found)
    error = frame["forecast 256"] - frame["found 256"]
    correlation = float(np.corrcoef(frame["forecast 256"], frame["found 256"])[0, 1])
    return {"correlation": correlation, "mean": float(error.mean()), "rms": float(np.sqrt((error**2).mean()))}


def draw(sheet: Sheet, found: dict[str, Any]) -> None:
    """Predicted against found, Pass@k along k, and the kernel."""
    left, middle, right = sheet.panels(3, height=2.6)
    frame = methods(found)
    for kind in (FREE, "GRPO, k2", "DPH-F", "DPH-JS", "DPH-alpha", "KL-DPG"):
        some = frame[frame.setting.str.split(r", (?=[\d.])", regex=True).str[0] == kind]
        words = {"GRPO": "GRPO, forward KL 0 to 1", "GRPO, k2": "GRPO, reverse KL"}.get(kind, kind)
        how = look(
            "forward KL" if kind == FREE else "reverse KL" if kind == "GRPO, k2" else kind, label=words
        )
        hollow = {"markerfacecolor": "white"} if kind.startswith("DPH") else {}
        left.plot(some["forecast 256"], some["found 256"], **how | hollow | {"linestyle": ""})
    base = frame.iloc[0]
    left.plot(base["base 256"], base["base 256"], "*", color="black", markersize=9, label="base")
    left.plot([0.2, 1], [0.2, 1], color="#bbbbbb", linewidth=0.8, zorder=0)
    left.set(xlabel="predicted from the base", ylabel="found", title="Pass@256, held out")
    middle.plot(K, [base[f"base {k}"] for k in K], **look("base", label="base"))
    for setting, words in ((FREE, "GRPO"), (FORWARD, "forward KL")):
        row, how = frame[frame.setting == setting].iloc[0], look(words)
        middle.plot(K, [row[f"forecast {k}"] for k in K], color=how["color"], linestyle=how["linestyle"])
        middle.plot(K, [row[f"found {k}"] for k in K], how["marker"], color=how["color"])
    middle.set_xscale("log", base=2)
    middle.set_xticks(K, [f"{k}" for k in K])
    middle.set(xlabel="samples $k$", ylabel=r"Pass@$k$", title="GRPO, without KL and at 1")
    drawn = right.imshow(found["cosines"], cmap="RdBu_r", vmin=-1, vmax=1)
    half = len(found["cosines"]) // 2
    right.axhline(half - 0.5, color="black", linewidth=0.6)
    right.axvline(half - 0.5, color="black", linewidth=0.6)
    right.set_xticks([half / 2, 1.5 * half], ["trained", "held out"])
    right.set_yticks([half / 2, 1.5 * half], ["trained", "held out"], rotation=90, va="center")
    right.set(xlabel="prompts", ylabel="prompts", title="cosines of gradients")
    right.figure.colorbar(drawn, ax=right, shrink=0.7, label="cosine")
    sheet.legend([left], 4)


def table(found: dict[str, Any]) -> Table:
    """Every setting whose end was predicted: the base, predicted and found, at three k."""
    names = [f"Pass@{k}, {what}" for k in K for what in ("base", "predicted", "found")]
    rows = [
        (row["task"], row["setting"], row["seeds"],
         *(round(row[f"{what} {k}"], 3) for k in K for what in ("base", "forecast", "found")))
        for _, row in found["settings"].iterrows()
    ]  # fmt: skip
    return Table.of(("held out", "method, strength", "seeds", *names), rows)


def quotes(found: dict[str, Any]) -> dict[str, float]:
    """How well held-out Pass@256 is predicted."""
    told = agreement(found)
    return {"predicted and found": round(told["correlation"], 2), "error of Pass": round(told["rms"], 3)}


def claim(found: dict[str, Any]) -> bool:
    """Predicted and found go together and are near; without a KL a fall is predicted and found."""
    told, frame = agreement(found), methods(found)
    near = told["correlation"] > LEAST["correlation"] and told["rms"] < LEAST["rms"]
    free = frame[frame.setting.isin([FREE, "DAPO", "Dr. GRPO"])]
    fell = (free["forecast 256"] < free["base 256"]) & (free["found 256"] < free["base 256"])
    return bool(near and fell.all())
