"""Gradients at the base predict how Pass@k falls on prompts that are not trained.

Pass@k of SmolLM2-135M-Instruct on 24 untrained prompts (last digits of products), after 20 steps of GRPO on
24 others, with exact probabilities: for the base, without a KL, and with a forward KL of coefficient 1. Dots
are trained runs, means over five seeds. Lines are predicted, after the runs, from the base's gradients (its
kernel of answers), without any fit; without shared weights every prompt would stay at the base or rise. The
table has every method and coefficient whose result was predicted.
"""

from typing import Any

import numpy as np
import pandas as pd

from dph_theory.support.settings_text import settings_text
from dph_theory.support.table import Table

from ..frames import Records
from ..style import Sheet, look, ticks

NEEDS = ("pretrained",)
TASK, K = "last digits", (1, 16, 256)
MIXTURE = (TASK, "weekdays by example", "months by example", "rain by example", "colours by example")
PUBLISHED = {"tasks": MIXTURE, "optimiser": "adam", "learning_rate": 1e-5, "rank": None, "steps": 20}
PUBLISHED |= {"anchors": 0, "measured_after": 0, "model": None}
"""Settings shared by the compared runs, which differ only in method, KL and coefficient."""
MEASURES = ("base", "forecast", "measured", "measured_spread", "trained_measured")
RUNS = {"no KL": ("GRPO", "none", 0.0), "with a KL": ("forward KL", "k3", 1.0)}
"""Look, form of the KL and coefficient of GRPO's runs, by label."""
LEAST = {"correlation": 0.9, "rms": 0.06}  # Requirements of the title on the predictions.


def numbers(records: Records) -> dict[str, Any]:
    """One row per setting, with its fields and predictions."""
    stored = records.results("pretrained")
    rows = []
    for forecast in stored["forecasts"]:
        tasks = tuple(forecast["setting"]["tasks"])
        row = forecast["setting"] | {"tasks": tasks, "task": tasks[0], "seeds": forecast["seeds"]}
        for measure in MEASURES:
            row |= zip((f"{measure} {k}" for k in K), forecast[measure], strict=True)
        rows.append(row)
    settings = pd.DataFrame(rows)
    # None is a value here, not a missing number.
    settings = settings.astype({"rank": object, "answers": object, "model": object})
    return {"settings": settings.where(settings.notna(), None)}


def methods(numbers: dict[str, Any]) -> pd.DataFrame:
    """Methods at their coefficients, all weights trained by Adam at 1e-5 on the mixture."""
    return rows_with(numbers["settings"], **PUBLISHED)


def rows_with(frame: pd.DataFrame, **fields: Any) -> pd.DataFrame:
    """Rows with these fields."""
    chosen = [all(row[name] == field for name, field in fields.items()) for row in frame.to_dict("records")]
    return frame[chosen]


def agreement(numbers: dict[str, Any]) -> dict[str, float]:
    """Correlation, mean error and rms error of the predicted held-out Pass@256 over the methods."""
    frame = methods(numbers)
    error = frame["forecast 256"] - frame["measured 256"]
    correlation = float(np.corrcoef(frame["forecast 256"], frame["measured 256"])[0, 1])
    return {"correlation": correlation, "mean": float(error.mean()), "rms": float(np.sqrt((error**2).mean()))}


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """Pass@k against k: the base, and GRPO without a KL and with one."""
    axes, frame = sheet.panels(height=2.5), rows_with(methods(numbers), method="GRPO")
    free, anchored = (rows_with(frame, kl=kl, coefficient=c).iloc[0] for _, kl, c in RUNS.values())
    axes.plot(K, [free[f"base {k}"] for k in K], **look("base"))
    ends = {"base": (free["base 256"], "base", 5)}
    for (words, (kind, *_)), row in zip(RUNS.items(), (free, anchored), strict=True):
        style = look(kind)
        axes.plot(K, [row[f"forecast {k}"] for k in K], color=style["color"])
        axes.plot(K, [row[f"measured {k}"] for k in K], "o", color=style["color"], markersize=5)
        ends[words] = (row["measured 256"], kind, -5)
    for words, (height, kind, shift) in ends.items():
        place: Any = {"xytext": (7, shift), "textcoords": "offset points", "va": "center", "fontsize": 9}
        axes.annotate(words, (K[-1], height), color=look(kind)["color"], **place)
    ticks(axes, K, base=2)
    axes.set(xlim=(0.8, 1500), ylim=(0, 0.85), xlabel="samples $k$", ylabel=r"Pass@$k$, prompts not trained")
    axes.text(1, 0.68, "dots: measured\nlines: predicted", fontsize=8.5, color="#555555")
    axes.tick_params(labelsize=8)
    fall = " to ".join(f"{free[f'{measure} 256']:.3f}" for measure in ("base", "measured"))
    axes.set_title(f"Pass@256 falls from {fall},\nwith a KL to {anchored['measured 256']:.3f}")


def table(numbers: dict[str, Any]) -> Table:
    """Every predicted setting: base, prediction and measurement, at three k."""
    names = [f"Pass@{k}, {what}" for k in K for what in ("base", "predicted", "found")]
    rows = [
        (row["task"], settings_text(row), row["seeds"],
         *(round(row[f"{what} {k}"], 3) for k in K for what in ("base", "forecast", "measured")))
        for row in numbers["settings"].to_dict("records")
    ]  # fmt: skip
    return Table.from_rows(("held out", "method, coefficient", "seeds", *names), rows)


def quotes(numbers: dict[str, Any]) -> dict[str, float]:
    """Accuracy of the predicted held-out Pass@256."""
    agreed = agreement(numbers)
    return {"correlation": round(agreed["correlation"], 2), "rms error": round(agreed["rms"], 3)}


def claim(numbers: dict[str, Any]) -> bool:
    """Prediction and measurement correlate and are close; without a KL a fall is predicted and measured."""
    agreed, frame = agreement(numbers), methods(numbers)
    near = agreed["correlation"] > LEAST["correlation"] and agreed["rms"] < LEAST["rms"]
    free = frame[frame.method.isin(["GRPO", "DAPO", "Dr. GRPO"]) & (frame.coefficient == 0)]
    fell = (free["forecast 256"] < free["base 256"]) & (free["measured 256"] < free["base 256"])
    return bool(near and fell.all())
