"""Without a KL a run retains one strategy on all prompts, and which one it is differs by seed.

Public runs of others (wheel remax-rl): three models on five domains, without a KL. Left: the remaining
strategy of each run of Qwen2.5-0.5B on each prompt of pantry, with a shade and a letter per strategy, white
for unsolved prompts. Right: how often the remaining strategy of a prompt is the most frequent one on the
run's other prompts (dots), and how often after shuffling the strategies among the runs that solve each prompt
(strokes).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap

from dph_theory.support.table import Table

from ..frames import Records
from ..style import BLUE, Sheet, rows

NEEDS = ("real_runs",)
MODELS = {"falcon1b": "Falcon3-1B", "qwen05b": "Qwen2.5-0.5B", "qwen3b": "Qwen-3B"}
DOMAINS = {"graph_coloring": "graph colouring", "pantry_plan": "pantry", "mathir": "algebra"}
DOMAINS |= {"countdown": "countdown", "python_factors": "Python factors"}
LEVELS = {"level1": "", "level2": ", Level 2"}
_SHADES = ("white", "#08306B", "#4A98C9", "#ABCFE6")
"""Shades of an unsolved prompt and of strategies, as far apart in grey as in colour."""


def numbers(records: Records) -> dict[str, Any]:
    """Remaining strategies in one domain, (runs, prompts), and all measures at Level 1 that show noise."""
    stored = records.results("real_runs")
    frame = pd.DataFrame(stored["groups"])
    frame = frame[~frame.replay & (frame.level == "level1") & frame.p_varied_holm.notna()]
    domains = frame.assign(words=[f"{row.model}, {row.domain.split('_')[0]}" for row in frame.itertuples()])
    matrix, measures = np.array(stored["matrix"]["left"]), domains[domains.p_varied_holm < 0.05]
    return {"left": matrix, "measures": measures, "groups": [g for g in stored["groups"] if not g["replay"]]}


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """Matrix of remaining strategies, ordered by frequency; named against shuffled shares."""
    measures, left_over = numbers["measures"].sort_values("named", ascending=False), numbers["left"]
    left, right = sheet.panels(2, height=0.9 + 0.17 * len(measures))
    counts = np.bincount(left_over[left_over >= 0])
    places = {strategy: place for place, strategy in enumerate(np.argsort(-counts), start=1)}
    shades = np.vectorize(lambda answer: min(places.get(answer, 0), len(_SHADES) - 1))(left_over)
    shades = shades[np.argsort(shades.max(axis=1), kind="stable")]
    left.imshow(shades, aspect="auto", cmap=ListedColormap(_SHADES), vmin=0, vmax=len(_SHADES) - 1)
    left.set(xlabel="prompts", ylabel="runs, by their strategy", title="Strategy left")
    left.set_yticks(range(len(shades)), ["-ABC"[shade] for shade in shades.max(axis=1)], fontsize=6)
    right.plot(measures.named, range(len(measures)), "o", color=BLUE, label="as they are")
    right.plot(measures.named_shuffled, range(len(measures)), "|", color="black", label="runs shuffled")
    rows(right, measures.words.tolist())
    right.set(xlabel="same strategy as on other prompts", xlim=(0, 1.05))
    sheet.legend([right], 2)


def table(numbers: dict[str, Any]) -> Table:
    """Measures of each model and domain; in brackets their values at the base, or shuffled."""
    rows = [
        (
            f"{MODELS[group['model']]}, {DOMAINS[group['domain']]}{LEVELS[group['level']]}",
            f"{group['one_left']} of {group['solving']}",
            _bracketed(group, "pairs", "least", "most", joined=" to "),
            _bracketed(group, "named", "named_shuffled"),
            _bracketed(group, "merit", "base_merit", "best_merit"),
            "{base_pass_1:.2f} to {pass_1:.2f}, {base_any:.2f} to {any:.2f}".format(**group),
        )
        for group in numbers["groups"]
    ]
    head = ("model, domain", "one answer left", "two runs alike (pairs)", "as on other prompts (shuffled)")
    return Table.from_rows((*head, "merit left (base, best)", "Pass@1, Pass@11"), rows)


def _bracketed(group: Mapping[str, Any], name: str, *compared: str, joined: str = ", ") -> str:
    if group.get(name) is None:
        return "-"
    numbers = [f"{group[other]:.2f}" for other in compared if group.get(other) is not None]
    return f"{group[name]:.2f}" + (f" ({joined.join(numbers)})" if numbers else "")


def claim(numbers: dict[str, Any]) -> bool:
    """Every solving run of the matrix has one strategy; other prompts name more than shuffled ones."""
    one = all(len(set(row[row >= 0])) == 1 for row in numbers["left"])
    return one and bool((numbers["measures"].named > numbers["measures"].named_shuffled).mean() > 0.5)
