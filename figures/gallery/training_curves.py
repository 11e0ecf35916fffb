"""Under GRPO and DAPO excess KL rises before Pass@k falls.

Top: Pass@k. Bottom: excess KL, the part of KL(policy || base) above the minimum at the policy's pass rate,
which is the collapse meter; means over prompts. Left: strategies, exact, with the step at which GRPO has lost
0.05 of its best Pass@16 (dotted) and the steps at which its excess KL has risen by the meter's thresholds
(strokes). Right: the tiny transformer on its training prompts, means over seeds with 95% intervals; RKL has
k3 without importance weight on all prompts.
"""

from typing import Any

import numpy as np

from dph_theory.intervals import probability_interval
from dph_theory.support.table import Table

from ..frames import Records, means
from ..style import Sheet, curve, look, written

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
    """Columns: the two models; rows: Pass@k and excess KL."""
    axes = sheet.panels(4, height=1.9, across=2, sharex="col").reshape(2, 2)
    for row, measure in zip(axes, ("pass", "excess"), strict=True):
        for place, (name, curves) in enumerate(numbers["strategies"].items()):
            style = look(name, label=written(name), markevery=(0.06 * place, 0.3))
            curve(row[0], curves["step"], *curves[measure], **style)
        for place, (name, curves) in enumerate(numbers["styles"].items()):
            style = look(name, label=name, markevery=(place, len(STYLES)))
            curve(row[1], curves["step"], *curves[measure], bars=True, **style)
    axes[0, 0].set_ylabel(f"Pass@{numbers['k']}, strategies")
    axes[0, 1].set_ylabel("Pass@8, tiny transformer")
    for ax in axes[1]:
        ax.set_ylabel("excess KL in nats")
    last = numbers["strategies"]["GRPO"]["step"][-1]
    axes[1, 0].set(xscale="symlog", xlabel="gradient step", xlim=(0, last))
    axes[1, 1].set_xlabel("update")
    color, leads = look("GRPO")["color"], numbers["leads"]
    for ax in axes[:, 0]:
        ax.axvline(leads[0]["coverage_step"], color=color, linewidth=0.7, linestyle=":")
    warned = [(lead["meter_step"], lead["rise"]) for lead in leads if lead["meter_step"] is not None]
    axes[1, 0].plot(*zip(*warned, strict=True), "|", color=color, markersize=9)
    sheet.legend(axes.ravel(), 4)


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
