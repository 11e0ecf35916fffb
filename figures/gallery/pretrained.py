"""How the KL is written decides which answers a pretrained Llama keeps, and how much of Pass@k.

SmolLM2-135M-Instruct, the probability of every answer exact. Left: the share of each decade among the right
answers; bars the base, lines the policies predicted before training, points the trained models, at beta 0.2.
Middle: Pass@k on held-out products after twenty steps on other products and on prompts that the base nearly
solves; a penalty at strength 1, DPH-F's at 0.5. Right: Pass@256 against Pass@1 on the trained products,
penalties along their strengths; means over seeds.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dph_theory.coverage import exact_pass_at_k
from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import Sheet, curve, look

NEEDS = ("pretrained",)
TASK, BETA = "primes", 0.2
FORMS = {"reward": "KL in the reward", "k3_corrected": "corrected k3", "k3": "k3"}
EXPLORED = "last digits"
K = (1, 4, 16, 64, 256)
FREE, REVERSE = "GRPO without KL", "GRPO, reverse KL (k2)"
FORWARD = "GRPO, forward KL (k3)"
METHODS = {
    "GRPO": FORWARD,
    "GRPO, k2": REVERSE,
    "DPH-F": "DPH-F",
    "DPH-JS": "DPH-JS",
    "DPH-alpha": "DPH-alpha",
    "DAPO": "DAPO",
    "Dr. GRPO": "Dr. GRPO",
    "KL-DPG": "KL-DPG",
}
"""The corrected k3 is k2, sample by sample, where each batch takes one step."""
LOOKS = {FREE: "GRPO", FORWARD: "forward KL", REVERSE: "reverse KL", "Dr. GRPO": "GRPO"}
SHOWN = {FREE: 0.0, REVERSE: 1.0, FORWARD: 1.0, "DPH-F": 0.5, "KL-DPG": 0.0}
"""Of the middle panel, each at one strength."""
REHEARSED = ("weekdays by example", "months by example", "rain by example", "colours by example")


def numbers(records: Records) -> dict[str, Any]:
    """Shares of the first digit by form, predicted and trained; a row a run of a method, with Pass@k."""
    stored = records.results("pretrained")
    base = stored["base"]
    shares = {"base": {"base": base[TASK]["first_shares"][0], "validity": base[TASK]["validity"][0]}}
    for run in stored["runs"]:
        settings = run["run"]
        if settings["task"] == TASK and settings.get("beta_from") and settings["beta"] == BETA:
            form, end = settings["form"], run["tasks"][TASK]
            policy = run["laws"][form]
            shares[form] = {
                "law": policy["first_shares"][TASK],
                "run": end["first_shares"][0],
                "law_validity": policy["validity"][TASK],
                "validity": end["validity"][0],
                "nearest": min(run["distances"], key=run["distances"].get),
            }
    rows = [{"method": "base", "strength": 0.0, "seed": -1} | _measures(base)]
    for run in stored["runs"]:
        settings = run["run"]
        if settings["experiment"] == "methods" and settings["form"] in METHODS:
            strength = settings["beta"]
            name = METHODS[settings["form"]] if strength or settings["form"] != "GRPO" else FREE
            row = {"method": name, "strength": strength, "seed": settings["seed"]}
            rows.append(row | _measures(run["tasks"]))
    to_a_policy = {
        name: [run for run in stored["runs"] if run["run"]["experiment"] == name] for name in ("laws", "trl")
    }
    judged = {name: stored[name] for name in ("claims", "at_equal_first")}
    return {"shares": shares, "methods": pd.DataFrame(rows), **to_a_policy, **judged}


def _measures(tasks: Mapping[str, Any]) -> dict[Any, float]:
    """Pass@k of what was explored, held out and trained, and what became of the rehearsed prompts."""
    measures: dict[Any, float] = {}
    for name, task in (("held", f"{EXPLORED}, held out"), ("trained", EXPLORED)):
        rates = np.minimum(tasks[task]["validity"], 1.0)
        measures |= {f"{name} {k}": float(exact_pass_at_k(rates, np.array(k)).mean()) for k in K}
    measures["rehearsed"] = float(np.mean([tasks[name]["validity"][0] for name in REHEARSED]))
    measures["answers"] = float(np.mean([tasks[name]["effective_answers"] for name in REHEARSED]))
    return measures


def ends(numbers: dict[str, Any]) -> pd.DataFrame:
    """A row a method and strength, the mean over seeds; `seeds` counts them."""
    grouped = numbers["methods"].groupby(["method", "strength"], sort=False)
    return grouped.mean().drop(columns="seed").assign(seeds=grouped.size()).reset_index()


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """Decades of prime years; Pass@k by method on held-out prompts; Pass@256 over Pass@1 by strength."""
    left, middle, right = sheet.panels(3, height=2.7, width_ratios=(1.25, 1, 1))
    digits = np.arange(10)
    left.bar(digits, numbers["shares"]["base"]["base"], color="#dddddd", label="base")
    for form, words in FORMS.items():
        shares, style = numbers["shares"][form], look(words)
        left.plot(digits, shares["law"], color=style["color"], linestyle=style["linestyle"])
        caption = f"{words}: pass rate {shares['validity']:.3f}, law {shares['law_validity']:.3f}"
        left.plot(digits, shares["run"], style["marker"], color=style["color"], label=caption, markersize=3.5)
    left.set(xlabel="decade", ylabel="share of the right answers")
    left.set_xticks(digits, [f"{digit}x" for digit in digits], fontsize=6)
    left.set_title('"He was born in 19..", a prime wanted')
    frame = ends(numbers)
    base = frame[frame.method == "base"].iloc[0]
    curve(middle, K, [base[f"held {k}"] for k in K], **look("base", label="base"))
    for name, strength in SHOWN.items():
        for _, row in frame[(frame.method == name) & (frame.strength == strength)].iterrows():
            curve(middle, K, [row[f"held {k}"] for k in K], **_look(name))
    middle.set_xscale("log", base=2)
    middle.set_xticks(K, [f"{k}" for k in K])
    middle.set(xlabel="samples $k$", ylabel=r"Pass@$k$", title="Last digits, held out")
    right.plot(base["trained 1"], base["trained 256"], **look("base", linestyle=""))
    for name in (FORWARD, REVERSE):
        points = frame[frame.method.isin([FREE, name])].sort_values("strength")
        right.plot(points["trained 1"], points["trained 256"], **_look(name))
    for name in (FREE, "DPH-F", "DPH-JS", "DPH-alpha", "DAPO", "Dr. GRPO", "KL-DPG"):
        points = frame[frame.method == name]
        right.plot(points["trained 1"], points["trained 256"], **_look(name) | {"linestyle": ""})
    right.set(xlabel="Pass@1", ylabel="Pass@256", title="Last digits, trained")
    sheet.legend([left, middle, right], 3)


def _look(name: str) -> dict[str, Any]:
    """What anchors nothing of the products, DPH's rehearsal or no KL scaled by itself, is drawn hollow."""
    hollow = {"markerfacecolor": "white"} if name.startswith(("DPH", "Dr.")) else {}
    return look(LOOKS.get(name, name), label=name, **hollow)


def table(numbers: dict[str, Any]) -> Table:
    """A row a method and strength: Pass@1, @16, @256 held out and trained; what it rehearses or trains."""
    names = {name: name for name in ("method", "strength", "seeds")}
    for column, where in (("trained", "trained"), ("held", "held out")):
        names |= {f"{column} {k}": f"Pass@{k}, {where}" for k in (1, 16, 256)}
    names["rehearsed"] = "pass rate of solved prompts"
    names["answers"] = "their effective number of right answers"
    frame = ends(numbers).round({name: 2 if name == "answers" else 3 for name in [*names][3:]})
    return tabled(frame, names)


def claim(numbers: dict[str, Any]) -> bool:
    """Each form converges to its own policy; without a KL Pass@256 falls; k3 retains more than k2."""
    own = all(numbers["shares"][form]["nearest"] == form for form in FORMS)
    frame = ends(numbers)
    free, base = (frame[frame.method == name].iloc[0] for name in (FREE, "base"))
    falls = all(free[f"{where} 256"] < base[f"{where} 256"] for where in ("held", "trained"))
    at_equal_first = numbers["at_equal_first"].values()
    return own and falls and all(forward > reverse for _, forward, reverse in at_equal_first)
