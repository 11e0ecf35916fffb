"""At equal Pass@1 a forward KL retains more Pass@256 on held-out prompts than a reverse KL.

SmolLM2-135M-Instruct on last digits of products, 24 prompts trained for twenty steps and 24 held out, with
the exact probability of every answer; means over seeds. GRPO without a KL, and with each form of the KL at
the coefficients beside the marks: the gradient of k3 without importance weight is that of the forward KL, and
the gradient of k2 that of the reverse KL. The table has every method.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dph_theory.coverage import exact_pass_at_k
from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import Sheet, look

NEEDS = ("pretrained",)
TASK, BETA = "primes", 0.2
FORMS = {"reward": "KL in the reward", "k3_corrected": "k3 with importance weight"}
FORMS["k3"] = "k3 without importance weight"
EXPLORED = "last digits"
K = (1, 16, 256)
FREE, FORWARD, REVERSE = ("GRPO", "none"), ("GRPO", "k3"), ("GRPO", "k2")
LABELS = {FREE: "GRPO without KL", FORWARD: "GRPO, forward KL (k3)", REVERSE: "GRPO, reverse KL (k2)"}
"""Labels by method and form of the KL, if different from the method's name."""
SEEDS = 3  # Settings with fewer seeds are not drawn.
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
    """Held-out Pass@256 over trained Pass@1, one line per form of the KL, each mark with its coefficient."""
    axes, frame = sheet.panels(height=2.6), ends(numbers)
    frame = frame[(frame.seeds >= SEEDS) | (frame.method == "base")]
    for key, words, place in ((FORWARD, "forward KL (k3)", 6), (REVERSE, "reverse KL (k2)", -6)):
        points, style = _rows_of(frame, FREE, key).sort_values("coefficient"), look(key[1])
        axes.plot(points["trained 1"], points["held 256"], **style)
        for row in points[points.coefficient > 0].to_dict("records"):
            first, at = row["coefficient"] == 1, (row["trained 1"], row["held 256"])
            text = f"{words}\ncoefficient 1" if first else f"coefficient {row['coefficient']:g}"
            shift = (place, 3 if place > 0 else -20) if first else (8, 3)
            side: Any = {"ha": "right" if shift[0] < 0 else "left", "color": style["color"], "size": 8}
            axes.annotate(text, at, shift, textcoords="offset points", **side)
    for method, words in (("base", "base"), ("GRPO", "no KL")):
        (row,) = _rows_of(frame, (method, "none")).to_dict("records")
        at = row["trained 1"], row["held 256"]
        axes.plot(*at, "*", color="black", markersize=9)
        axes.annotate(words, at, (7, -7), textcoords="offset points", size=8)
    axes.set(
        xlabel="Pass@1, trained prompts", ylabel="Pass@256, held out", xlim=(0.1, 0.85), ylim=(None, 0.8)
    )


def _rows_of(frame: pd.DataFrame, *keys: tuple[str, str]) -> pd.DataFrame:
    return frame[[key in keys for key in zip(frame.method, frame.kl, strict=True)]]


def table(numbers: dict[str, Any]) -> Table:
    """One row per method and coefficient: Pass@1, @16, @256 held out and trained; rehearsed measures."""
    names = {"method": "method", "coefficient": "coefficient", "seeds": "seeds"}
    for column, where in (("trained", "trained"), ("held", "held out")):
        names |= {f"{column} {k}": f"Pass@{k}, {where}" for k in (1, 16, 256)}
    names["rehearsed"] = "pass rate of solved prompts"
    names["answers"] = "exp(entropy) of their correct answers"
    frame = ends(numbers)
    frame["method"] = [LABELS.get(key, key[0]) for key in zip(frame.method, frame.kl, strict=True)]
    frame = frame.round({name: 2 if name == "answers" else 3 for name in [*names][3:]})
    return tabled(frame, names)


def claim(numbers: dict[str, Any]) -> bool:
    """At a Pass@1 that both reach, the forward KL retains more of Pass@256 than the reverse KL."""
    at_equal_first = numbers["at_equal_first"].values()
    return all(forward > reverse for _, forward, reverse in at_equal_first)
