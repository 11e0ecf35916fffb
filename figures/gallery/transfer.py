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

from dph_theory.support.settings_text import settings_text
from dph_theory.support.table import Table

from ..frames import Records
from ..style import Sheet, look

NEEDS = ("pretrained",)
TASK, K = "last digits", (1, 16, 256)
MIXTURE = (TASK, "weekdays by example", "months by example", "rain by example", "colours by example")
PUBLISHED = {"tasks": MIXTURE, "optimiser": "adam", "learning_rate": 1e-5, "rank": None, "steps": 20}
PUBLISHED |= {"anchors": 0, "measured_after": 0}
"""What the settings have in common that are compared: they differ in method, KL and coefficient alone."""
MEASURES = ("base", "forecast", "interpolated", "measured", "measured_spread", "trained_measured")
POINTS = {
    "GRPO, forward KL 0 to 1": ("GRPO", ("none", "k3"), "forward KL"),
    "GRPO, reverse KL": ("GRPO", ("k2",), "reverse KL"),
    **{name: (name, ("none",), name) for name in ("DPH-F", "DPH-JS", "DPH-alpha", "KL-DPG")},
}
"""By label the method, the forms of its KL, and the look."""
LEAST = {"correlation": 0.9, "rms": 0.06}
"""What the title asks of the predictions."""


def numbers(records: Records) -> dict[str, Any]:
    """A row a setting with its fields and predictions, and the kernel of the last digits."""
    stored = records.results("pretrained")
    rows = []
    for forecast in stored["forecasts"]:
        tasks = tuple(forecast["setting"]["tasks"])
        row = forecast["setting"] | {"tasks": tasks, "task": tasks[0], "seeds": forecast["seeds"]}
        for measure in MEASURES:
            row |= zip((f"{measure} {k}" for k in K), forecast[measure], strict=True)
        rows.append(row)
    of_base = {"tasks": [*MIXTURE], "rank": None, "measured_after": 0, "seed": None}
    kernel = next(kernel for kernel in stored["kernels"] if kernel["settings"] == of_base)
    shown = [i for i, name in enumerate(kernel["sets"]) if name.startswith(TASK)]
    settings = pd.DataFrame(rows)
    # What is None is not a missing number.
    settings = settings.astype({"rank": object, "answers": object}).where(settings.notna(), None)
    return {"settings": settings, "cosines": np.array(kernel["cosines"])[np.ix_(shown, shown)]}


def methods(numbers: dict[str, Any]) -> pd.DataFrame:
    """The methods at their coefficients, all weights trained by Adam at 1e-5 on the mixture."""
    return rows_with(numbers["settings"], **PUBLISHED)


def rows_with(frame: pd.DataFrame, **fields: Any) -> pd.DataFrame:
    """The rows of these fields."""
    chosen = [all(row[name] == field for name, field in fields.items()) for row in frame.to_dict("records")]
    return frame[chosen]


def agreement(numbers: dict[str, Any]) -> dict[str, float]:
    """Of held-out Pass@256 over the methods: the correlation of predicted with found, mean and rms error."""
    frame = methods(numbers)
    error = frame["forecast 256"] - frame["measured 256"]
    correlation = float(np.corrcoef(frame["forecast 256"], frame["measured 256"])[0, 1])
    return {"correlation": correlation, "mean": float(error.mean()), "rms": float(np.sqrt((error**2).mean()))}


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """Predicted against found, Pass@k along k, and the kernel."""
    left, middle, right = sheet.panels(3, height=2.6)
    frame = methods(numbers)
    for words, (method, kls, kind) in POINTS.items():
        points = frame[(frame.method == method) & frame.kl.isin(kls)]
        hollow = {"markerfacecolor": "white"} if method.startswith("DPH") else {}
        style = look(kind, label=words, linestyle="", **hollow)
        left.plot(points["forecast 256"], points["measured 256"], **style)
    base = frame.iloc[0]
    left.plot(base["base 256"], base["base 256"], "*", color="black", markersize=9, label="base")
    left.plot([0.2, 1], [0.2, 1], color="#bbbbbb", linewidth=0.8, zorder=0)
    left.set(xlabel="predicted from the base", ylabel="found", title="Pass@256, held out")
    middle.plot(K, [base[f"base {k}"] for k in K], **look("base", label="base"))
    for kl, coefficient, words in (("none", 0, "GRPO"), ("k3", 1, "forward KL")):
        row = rows_with(frame, method="GRPO", kl=kl, coefficient=coefficient).iloc[0]
        style = look(words)
        middle.plot(K, [row[f"forecast {k}"] for k in K], color=style["color"], linestyle=style["linestyle"])
        middle.plot(K, [row[f"measured {k}"] for k in K], style["marker"], color=style["color"])
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
        (row["task"], settings_text(row), row["seeds"],
         *(round(row[f"{what} {k}"], 3) for k in K for what in ("base", "forecast", "measured")))
        for row in numbers["settings"].to_dict("records")
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
    free = frame[frame.method.isin(["GRPO", "DAPO", "Dr. GRPO"]) & (frame.coefficient == 0)]
    fell = (free["forecast 256"] < free["base 256"]) & (free["measured 256"] < free["base 256"])
    return bool(near and fell.all())
