"""Without a KL what the base's kernel forecasts to fall falls on three models, further or less far.

Last digits of products, 24 prompts trained and 24 held out, on SmolLM2-135M, Gemma-3-270M, and a small Llama
that was taught random digits. Held-out Pass@256 after the runs is shown against its forecast by the plain
kernel before the runs, one point per method and rate, means over seeds; the star is the base. The table also
has the forecasts by the kernel in Adam's metric.
"""

from typing import Any

import pandas as pd

from dph_theory.support.settings_text import settings_text
from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import BLACK, LIGHT, Sheet, look
from .transfer import TASK, K

NEEDS = ("pretrained",)
MODELS = {"": "SmolLM2-135M", "gemma3": "Gemma-3-270M", "taught": "a small Llama"}
LOOKS = {"none": "GRPO", "k3": "forward KL", "k2": "reverse KL"}
WORDS = {"none": "no KL", "k3": "forward KL (k3)", "k2": "reverse KL (k2)"}
"""Look and label of a point, by form of the KL."""
_FALL = 0.1  # In Pass@256.
_MEASURES = ("base", "forecast", "adam_forecast", "measured")


def numbers(records: Records) -> pd.DataFrame:
    """One row per setting of the models' runs: base, both forecasts and the measurement, held out."""
    rows = []
    for stored in records.results("pretrained")["forecasts"]:
        setting = stored["setting"]
        if setting["experiment"] == "models" and stored["adam_forecast"]:
            row: dict[str, Any] = setting | {"task": setting["tasks"][0], "model": setting["model"] or ""}
            for measure in _MEASURES:
                row |= zip((f"{measure} {k}" for k in K), stored[measure], strict=True)
            rows.append(row | {"seeds": stored["seeds"]})
    return pd.DataFrame(rows)


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """One panel per model: measured against forecast."""
    panels = sheet.panels(len(MODELS))
    for axes, (model, name) in zip(panels, MODELS.items(), strict=True):
        rows = frame[(frame.model == model) & (frame.task == TASK)]
        axes.plot([0, 1], [0, 1], color=LIGHT, zorder=0)
        for row in rows.to_dict("records"):
            style = look(LOOKS[row["kl"]], linestyle="", label=WORDS[row["kl"]])
            axes.plot(row["forecast 256"], row["measured 256"], **style)
        base = rows["base 256"].iloc[0]
        axes.plot(base, base, "*", color=BLACK, markersize=9, label="base")
        axes.set(title=name, xlabel="forecast Pass@256", ylabel="measured", xlim=(0, 1.05), ylim=(0, 1.05))
    sheet.legend(panels)


def claim(frame: pd.DataFrame) -> bool:
    """Without a KL each forecast fall is measured, on every model; and some forecasts are off by _FALL."""
    free = frame[frame.kl == "none"]
    falling = free[free["forecast 256"] < free["base 256"] - _FALL]
    fell = falling["measured 256"] < falling["base 256"] - _FALL / 2
    off = (free["forecast 256"] - free["measured 256"]).abs() > _FALL
    return {*falling.model} == {*MODELS} and bool(fell.all() and off.any())


def table(frame: pd.DataFrame) -> Table:
    """Base, both forecasts and measurement of every setting, held out."""
    rows = frame.assign(setting=[settings_text(row) for row in frame.to_dict("records")])
    names = {"task": "task", "setting": "setting", "seeds": "seeds"}
    return tabled(rows, names | {f"{m} {k}": f"{m} {k}" for k in K for m in _MEASURES})
