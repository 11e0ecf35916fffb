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
MEASURES = ("base", "forecast", "interpolated", "found", "found_spread", "trained_found")
POINTS = {FREE: ("forward KL", "GRPO, forward KL 0 to 1"), "GRPO, k2": ("reverse KL", "GRPO, reverse KL")}
"""The look and the label of points, where they are not those of their method."""
LEAST = {"correlation": 0.9, "rms": 0.06}
"""What the title asks of the predictions."""


def numbers(records: Records) -> dict[str, Any]:
    """A row a setting with its predictions, and the kernel of the last digits."""
    stored = records.results("pretrained")
    rows = []
    for forecast in stored["forecasts"]:
        row = {"task": forecast["tasks"][0], "mixed": len(forecast["tasks"]) > 1}
        row |= {name: forecast[name] for name in ("setting", "seeds")}
        for measure in MEASURES:
            row |= zip((f"{measure} {k}" for k in K), forecast[measure], strict=True)
        rows.append(row)
    kernel = stored["kernels"][KERNEL]
    shown = [i for i, name in enumerate(kernel["sets"]) if name.startswith(TASK)]
    return {"settings": pd.DataFrame(rows), "cosines": np.array(kernel["cosines"])[np.ix_(shown, shown)]}


def methods(numbers: dict[str, Any]) -> pd.DataFrame:
    """The methods at their strengths, all weights trained by Adam at 1e-5 on the mixture."""
    frame = numbers["settings"]
    other = frame.setting.str.contains("Adam|SGD|LoRA|kernel|at random|by kernel|least coupled")
    return frame[(frame.task == TASK) & frame.mixed & ~other]


def agreement(numbers: dict[str, Any]) -> dict[str, float]:
    """Of held-out Pass@256 over the methods: the correlation of predicted with found, mean and rms error."""
    frame = methods(numbers)
    error = frame["forecast 256"] - frame["found 256"]
    correlation = float(np.corrcoef(frame["forecast 256"], frame["found 256"])[0, 1])
    return {"correlation": correlation, "mean": float(error.mean()), "rms": float(np.sqrt((error**2).mean()))}


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """Predicted against found, Pass@k along k, and the kernel."""
    left, middle, right = sheet.panels(3, height=2.6)
    frame = methods(numbers)
    for kind in (FREE, "GRPO, k2", "DPH-F", "DPH-JS", "DPH-alpha", "KL-DPG"):
        points = frame[frame.setting.str.split(r", (?=[\d.])", regex=True).str[0] == kind]
        method, words = POINTS.get(kind, (kind, kind))
        hollow = {"markerfacecolor": "white"} if kind.startswith("DPH") else {}
        style = look(method, label=words, linestyle="", **hollow)
        left.plot(points["forecast 256"], points["found 256"], **style)
    base = frame.iloc[0]
    left.plot(base["base 256"], base["base 256"], "*", color="black", markersize=9, label="base")
    left.plot([0.2, 1], [0.2, 1], color="#bbbbbb", linewidth=0.8, zorder=0)
    left.set(xlabel="predicted from the base", ylabel="found", title="Pass@256, held out")
    middle.plot(K, [base[f"base {k}"] for k in K], **look("base", label="base"))
    for setting, words in ((FREE, "GRPO"), (FORWARD, "forward KL")):
        row, style = frame[frame.setting == setting].iloc[0], look(words)
        middle.plot(K, [row[f"forecast {k}"] for k in K], color=style["color"], linestyle=style["linestyle"])
        middle.plot(K, [row[f"found {k}"] for k in K], style["marker"], color=style["color"])
    middle.set_xscale("log", base=2)
    middle.set_xticks(K, [f"{k}" for k in K])
    middle.set(xlabel="samples $k$", ylabel=r"Pass@$k$", title="GRPO, without KL and at 1")
    drawn = right.imshow(numbers["cosines"], cmap="RdBu_r", vmin=-1, vmax=1)
    half = len(numbers["cosines"]) // 2
    right.axhline(half - 0.5, color="black", linewidth=0.6)
    right.axvline(half - 0.5, color="black", linewidth=0.6)
    right.set_xticks([half / 2, 1.5 * half], ["trained", "held out"])
    right.set_yticks([half / 2, 1.5 * half], ["trained", "held out"], rotation=90, va="center")
    right.set(xlabel="prompts", ylabel="prompts", title="cosines of gradients")
    right.figure.colorbar(drawn, ax=right, shrink=0.7, label="cosine")
    sheet.legend([left], 4)


def table(numbers: dict[str, Any]) -> Table:
    """Every setting whose end was predicted: the base, predicted and found, at three k."""
    names = [f"Pass@{k}, {what}" for k in K for what in ("base", "predicted", "found")]
    rows = [
        (row["task"], row["setting"], row["seeds"],
         *(round(row[f"{what} {k}"], 3) for k in K for what in ("base", "forecast", "found")))
        for _, row in numbers["settings"].iterrows()
    ]  # fmt: skip
    return Table.from_rows(("held out", "method, strength", "seeds", *names), rows)


def quotes(numbers: dict[str, Any]) -> dict[str, float]:
    """How well held-out Pass@256 is predicted."""
    agreed = agreement(numbers)
    return {"predicted and found": round(agreed["correlation"], 2), "error of Pass": round(agreed["rms"], 3)}


def claim(numbers: dict[str, Any]) -> bool:
    """Predicted and found go together and are near; without a KL a fall is predicted and found."""
    agreed, frame = agreement(numbers), methods(numbers)
    near = agreed["correlation"] > LEAST["correlation"] and agreed["rms"] < LEAST["rms"]
    free = frame[frame.setting.isin([FREE, "DAPO", "Dr. GRPO"])]
    fell = (free["forecast 256"] < free["base 256"]) & (free["found 256"] < free["base 256"])
    return bool(near and fell.all())
