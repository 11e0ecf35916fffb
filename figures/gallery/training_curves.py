"""Under GRPO and DAPO excess KL rises before Pass@k falls.

Excess KL is the part of KL(policy || base) above the minimum at the policy's pass rate, which is the collapse
meter; means over prompts. Left: GRPO on strategies, exact, with the first step at which the meter warns and
the step at which 0.05 of the best Pass@16 is lost. Right: DAPO in the tiny transformer on its training
prompts, means over seeds with 95% intervals. The table has the other methods.
"""

from typing import Any

import numpy as np

from dph_theory.intervals import probability_interval
from dph_theory.support.table import Table

from ..frames import Records, means
from ..style import BLUE, VERMILLION, Sheet, curve

NEEDS = ("strategies", "styles")
STRATEGIES = ("GRPO", "DPH-F", "DPH-JS", "reverse KL on D_pef")
STYLES = ("GRPO", "DAPO", "RKL", "DPH-F", "DPH-JS")
EARLY = 3  # Index of an early point of the transformer's curves.


def numbers(records: Records) -> dict[str, Any]:
    """Pass@k and excess KL along training: exact for strategies, over seeds for the tiny transformer."""
    exact = {method["name"]: method for method in records.results("strategies")["methods"]}
    runs = [run for run in records.results("styles")["runs"] if "main" in run["groups"]]
    tiny: dict[str, Any] = {}
    for name in STYLES:
        curves = [run["curve"] for run in runs if run["name"] == name]
        tiny[name] = {
            "step": np.array(curves[0]["update"]),
            "pass": means([one["pass_at_8"] for one in curves], probability_interval),
            "excess": means([one["excess"] for one in curves]),
        }
    chosen: dict[str, Any] = {}
    for name in STRATEGIES:
        chosen[name] = {"step": np.array(exact[name]["step"])}
        for measure, stored in (("pass", "pass_at_k_curve"), ("excess", "excess_kl_curve")):
            chosen[name][measure] = (np.array(exact[name][stored]),)
    k = records.record("strategies")["config"]["coverage_draws"]
    return {"strategies": chosen, "styles": tiny, "leads": exact["GRPO"]["leads"], "k": k}


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """Pass@k and excess KL: GRPO on strategies with its warning (left), DAPO in the transformer (right)."""
    panels, lead = sheet.panels(2), numbers["leads"][0]
    shown = (
        (numbers["strategies"]["GRPO"], numbers["k"], "gradient step", "GRPO, strategies"),
        (numbers["styles"]["DAPO"], 8, "update", "DAPO, tiny transformer"),
    )
    for axes, (curves, k, time, title) in zip(panels, shown, strict=True):
        for measure, color in (("pass", BLUE), ("excess", VERMILLION)):
            curve(axes, curves["step"], *curves[measure], color=color)
        end, more = curves["step"][-1], {"ha": "right", "size": 9}
        axes.text(end, curves["pass"][0][-1] - 0.16, f"Pass@{k}", color=BLUE, **more)
        axes.text(end, curves["excess"][0][-1] + 0.07, "excess KL", color=VERMILLION, **more)
        axes.set(xlabel=time, ylabel="Pass@k; excess KL, nats", title=title)
        axes.set_ylim(0, 1.3 if k == numbers["k"] else 1.75)
    curves, ax = shown[0][0], panels[0]
    ax.set(xscale="log", xlim=(10, curves["step"][-1]))
    marks = (("excess", "meter_step", VERMILLION, "warning"), ("pass", "coverage_step", BLUE, "0.05 lost"))
    for measure, key, color, words in marks:
        at = lead[key], np.interp(lead[key], curves["step"], curves[measure][0])
        ax.plot(*at, "o", color=color, markersize=6)
        side: Any = {"ha": "right" if measure == "excess" else "left", "color": color}
        ax.annotate(words, at, (-7 if measure == "excess" else 7, 4), textcoords="offset points", **side)


def table(numbers: dict[str, Any]) -> Table:
    """First and last values of the curves."""
    head, rows = ("Pass@k at the start", "Pass@k at the end", "excess KL at the end"), []
    models = {"strategies": f"strategies, k = {numbers['k']}", "styles": "tiny transformer, k = 8"}
    for model, words in models.items():
        for name, curves in numbers[model].items():
            start, end = curves["pass"][0][[0, -1]].tolist()
            rows.append((words, name, start, end, float(curves["excess"][0][-1])))
    return Table.from_rows(("model", "method", *head), rows)


def claim(numbers: dict[str, Any]) -> bool:
    """The meter warns before coverage falls, in both models, under GRPO and DAPO."""
    first = min(lead["meter_step"] for lead in numbers["leads"] if lead["meter_step"] is not None)
    early = first < numbers["leads"][0]["coverage_step"]
    for name in ("GRPO", "DAPO"):
        excess, passed = (numbers["styles"][name][measure][0] for measure in ("excess", "pass"))
        early &= excess[EARLY] > 0.1 and passed[EARLY] - passed[0] > -0.005 and passed[-1] < passed[0]
    return bool(early)
