"""How the KL is written decides which answers a pretrained Llama retains, and how much of Pass@k.

SmolLM2-135M-Instruct, with the exact probability of every answer. Left: the share of each decade among the
correct answers; bars are the base, lines the policies predicted before training, points the trained models,
at beta 0.2. Middle: Pass@k on held-out products after twenty steps on other products and on prompts that the
base nearly solves; coefficients are 1, for DPH-F 0.5. Right: Pass@256 against Pass@1 on the trained products,
penalties along their coefficients; means over seeds.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dph_theory.coverage import exact_pass_at_k
from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import Sheet, curve, look, ticks

NEEDS = ("pretrained",)
TASK, BETA = "primes", 0.2
FORMS = {"reward": "KL in the reward", "k3_corrected": "corrected k3", "k3": "k3"}
EXPLORED = "last digits"
K = (1, 4, 16, 64, 256)
FREE, FORWARD, REVERSE = ("GRPO", "none"), ("GRPO", "k3"), ("GRPO", "k2")
LABELS = {FREE: "GRPO without KL", FORWARD: "GRPO, forward KL (k3)", REVERSE: "GRPO, reverse KL (k2)"}
"""Labels by method and form of the KL, if different from the method's name."""
LOOKS = {FREE: "GRPO", FORWARD: "forward KL", REVERSE: "reverse KL", ("Dr. GRPO", "none"): "GRPO"}
MARKS = {"DPH-F": {"marker": "D", "linestyle": ":"}, "Dr. GRPO": {"marker": "<"}}
COMPARED = [(name, "none") for name in ("DPH-F", "DPH-JS", "DPH-alpha", "DAPO", "Dr. GRPO", "KL-DPG")]
SHOWN = {FREE: 0.0, REVERSE: 1.0, FORWARD: 1.0, ("DPH-F", "none"): 0.5, ("KL-DPG", "none"): 0.0}
"""Methods of the middle panel, each at one coefficient."""
REHEARSED = ("weekdays by example", "months by example", "rain by example", "colours by example")


def numbers(records: Records) -> dict[str, Any]:
    """Shares of the first digit by form, predicted and trained; one row per run of a method, with Pass@k."""
    stored = records.results("pretrained")
    base = stored["base"]
    shares = {"base": {"base": base[TASK]["first_shares"][0], "pass_rate": base[TASK]["pass_rate"][0]}}
    for run in stored["runs"]:
        settings = run["run"]
        if settings["tasks"] == [TASK] and settings["coefficient_from"] and settings["coefficient"] == BETA:
            form, end, policy = settings["kl"], run["tasks"][TASK], run["predicted"][settings["kl"]]
            shares[form] = {
                "law": policy["first_shares"][TASK],
                "run": end["first_shares"][0],
                "law_pass_rate": policy["pass_rate"][TASK],
                "pass_rate": end["pass_rate"][0],
                "nearest": min(run["distances"], key=run["distances"].get),
            }
    rows = [{"method": "base", "kl": "none", "coefficient": 0.0, "seed": -1} | _measures(base)]
    for run in stored["runs"]:
        # With one step per batch k3 with importance weight equals k2, sample by sample.
        if run["run"]["experiment"] == "methods" and run["run"]["kl"] != "k3_corrected":
            row = {name: run["run"][name] for name in ("method", "kl", "coefficient", "seed")}
            rows.append(row | _measures(run["tasks"]))
    stationary = [run for run in stored["runs"] if run["run"]["experiment"] == "stationary"]
    ends = {"methods": pd.DataFrame(rows), "at_equal_first": stored["at_equal_first"]}
    return {"shares": shares, "stationary": stationary, **ends}


def _measures(tasks: Mapping[str, Any]) -> dict[Any, float]:
    """Pass@k on explored, held-out and trained prompts, and measures on the rehearsed prompts."""
    measures: dict[Any, float] = {}
    for name, task in (("held", f"{EXPLORED}, held out"), ("trained", EXPLORED)):
        rates = np.minimum(tasks[task]["pass_rate"], 1.0)
        measures |= {f"{name} {k}": float(exact_pass_at_k(rates, np.array(k)).mean()) for k in K}
    measures["rehearsed"] = float(np.mean([tasks[name]["pass_rate"][0] for name in REHEARSED]))
    measures["answers"] = float(np.mean([tasks[name]["effective_answers"] for name in REHEARSED]))
    return measures


def ends(numbers: dict[str, Any]) -> pd.DataFrame:
    """One row per method, form of its KL and coefficient, the mean over seeds; `seeds` counts them."""
    grouped = numbers["methods"].groupby(["method", "kl", "coefficient"], sort=False)
    return grouped.mean().drop(columns="seed").assign(seeds=grouped.size()).reset_index()


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """Decades of prime years; Pass@k by method on held-out prompts; Pass@256 over Pass@1 by coefficient."""
    left, middle, right = sheet.panels(3, height=2.7, width_ratios=(1.25, 1, 1))
    digits = np.arange(10)
    left.bar(digits, numbers["shares"]["base"]["base"], color="#dddddd", label="base")
    for form, words in FORMS.items():
        shares, style = numbers["shares"][form], look(words)
        left.plot(digits, shares["law"], color=style["color"], linestyle=style["linestyle"])
        caption = f"{words}: pass rate {shares['pass_rate']:.3f}, predicted {shares['law_pass_rate']:.3f}"
        left.plot(digits, shares["run"], style["marker"], color=style["color"], label=caption, markersize=3.5)
    left.set(xlabel="decade", ylabel="share of the correct answers")
    left.set_xticks(digits, [f"{digit}x" for digit in digits], fontsize=6)
    left.set_title('"He was born in 19..", a prime wanted')
    frame = ends(numbers)
    base = frame[frame.method == "base"].iloc[0]
    curve(middle, K, [base[f"held {k}"] for k in K], **look("base", label="base"))
    for key, coefficient in SHOWN.items():
        points = _rows_of(frame, key)
        (row,) = points[points.coefficient == coefficient].to_dict("records")
        curve(middle, K, [row[f"held {k}"] for k in K], **_look(key))
    ticks(middle, K, base=2)
    middle.set(xlabel="samples $k$", ylabel=r"Pass@$k$", title="Last digits, held out")
    right.plot(base["trained 1"], base["trained 256"], **look("base", linestyle=""))
    for key in (FORWARD, REVERSE):
        points = _rows_of(frame, FREE, key).sort_values("coefficient")
        right.plot(points["trained 1"], points["trained 256"], **_look(key))
    for key in (FREE, *COMPARED):
        points = _rows_of(frame, key)
        right.plot(points["trained 1"], points["trained 256"], **_look(key) | {"linestyle": ""})
    right.set(xlabel="Pass@1", ylabel="Pass@256", title="Last digits, trained")
    sheet.legend([left, middle, right], 3)


def _rows_of(frame: pd.DataFrame, *keys: tuple[str, str]) -> pd.DataFrame:
    return frame[[key in keys for key in zip(frame.method, frame.kl, strict=True)]]


def _look(key: tuple[str, str]) -> dict[str, Any]:
    own = MARKS.get(key[0], {})
    return look(LOOKS.get(key, key[0]), label=LABELS.get(key, key[0]), **own)


def table(numbers: dict[str, Any]) -> Table:
    """One row per method and coefficient: Pass@1, @16, @256 held out and trained; rehearsed measures."""
    names = {"method": "method", "coefficient": "coefficient", "seeds": "seeds"}
    for column, where in (("trained", "trained"), ("held", "held out")):
        names |= {f"{column} {k}": f"Pass@{k}, {where}" for k in (1, 16, 256)}
    names["rehearsed"] = "pass rate of solved prompts"
    names["answers"] = "their effective number of correct answers"
    frame = ends(numbers)
    frame["method"] = [LABELS.get(key, key[0]) for key in zip(frame.method, frame.kl, strict=True)]
    frame = frame.round({name: 2 if name == "answers" else 3 for name in [*names][3:]})
    return tabled(frame, names)


def claim(numbers: dict[str, Any]) -> bool:
    """Each form converges to its own policy; without a KL Pass@256 falls; k3 retains more than k2."""
    own = all(numbers["shares"][form]["nearest"] == form for form in FORMS)
    frame = ends(numbers)
    free, base = (_rows_of(frame, key).iloc[0] for key in (FREE, ("base", "none")))
    falls = all(free[f"{where} 256"] < base[f"{where} 256"] for where in ("held", "trained"))
    at_equal_first = numbers["at_equal_first"].values()
    return own and falls and all(forward > reverse for _, forward, reverse in at_equal_first)
