"""Trained without a KL, Qwen2.5-0.5B retains one strategy, and seeds differ in which.

Public runs of others (wheel remax-rl), trained without a KL: the remaining strategy of each run of
Qwen2.5-0.5B on each prompt of the domain pantry. The table has three models on five domains: how often one
answer remains, and how often the remaining strategy of a prompt is the most frequent one on the run's other
prompts, in brackets after shuffling the strategies among the runs that solve each prompt.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap

from dph_theory.support.table import Table

from ..frames import Records
from ..style import Sheet

NEEDS = ("real_runs",)
MODELS = {"falcon1b": "Falcon3-1B", "qwen05b": "Qwen2.5-0.5B", "qwen3b": "Qwen-3B"}
DOMAINS = {"graph_coloring": "graph colouring", "pantry_plan": "pantry", "mathir": "algebra"}
DOMAINS |= {"countdown": "countdown", "python_factors": "Python factors"}
LEVELS = {"level1": "", "level2": ", Level 2"}
_SHADES = ("white", "#08306B", "#4A98C9", "#ABCFE6")
"""Shades of an unsolved prompt and of strategies, as far apart in grey as in colour."""


def numbers(records: Records) -> dict[str, Any]:
    """Remaining strategies in one domain, (runs, prompts), and the measures of each model and domain."""
    stored = records.results("real_runs")
    groups = [group for group in stored["groups"] if not group["replay"]]
    return {"left": np.array(stored["matrix"]["left"]), "groups": groups}


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """Matrix of remaining strategies, one row per run, ordered by frequency."""
    left_over, axes = numbers["left"], sheet.panels(height=2.6)
    counts = np.bincount(left_over[left_over >= 0])
    places = {strategy: place for place, strategy in enumerate(np.argsort(-counts), start=1)}
    shades = np.vectorize(lambda answer: min(places.get(answer, 0), len(_SHADES) - 1))(left_over)
    shades = shades[np.argsort(shades.max(axis=1), kind="stable")]
    axes.imshow(shades, aspect="auto", cmap=ListedColormap(_SHADES), vmin=0, vmax=len(_SHADES) - 1)
    own = shades.max(axis=1)
    for place in range(1, len(_SHADES)):
        at = (left_over.shape[1] + 0.5, np.flatnonzero(own == place).mean())
        axes.text(*at, f"strategy {'ABC'[place - 1]}", va="center", size=9)
    axes.set(xlabel="prompts (white: not solved)", ylabel="runs", yticks=())


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
    """Every run has one strategy on all prompts that it solves, and the runs have several."""
    strategies = [set(row[row >= 0]) for row in numbers["left"]]
    return {len(one) for one in strategies} == {1} and len(set.union(*strategies)) > 1
