"""The published numbers beside those of the tiny transformer: other models, perhaps the same pattern."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from scipy.stats import spearmanr

from dph_theory.intervals import probability_interval
from toy_lm.styles import read
from toy_lm.styles.results import Results, Split

from ..figure import Figure
from ..look import seeds, theme
from ..results.experiments import Record

PUBLISHED = Path(__file__).parents[1] / "data" / "published.csv"
"""benchmark, measure, method, percent, source (a paper key)."""
METHODS = ("GRPO", "DAPO", "RKL", "DPH-F", "DPH-JS")
ON_BIRD = ("greedy", "Pass@8", "Pass@16")
KS = (1, 8, 16)
"""Exact Pass@1 stands here where the paper decodes greedily."""
LAST = {"Bird": "Pass@16", "Spider": "Pass@16", "out-of-domain maths": "average"}
"""What is compared with the base, by benchmark."""
SPLITS: dict[Split, str] = {"train": "training prompts", "held_out": "held-out prompts"}
SHADE = "#f0f0f0"
"""Behind what is published, so that nobody takes it for ours."""


def published() -> dict[str, dict[str, dict[str, float]]]:
    """The published percentages by benchmark, measure and method."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            measures = found.setdefault(row["benchmark"], {})
            measures.setdefault(row["measure"], {})[row["method"]] = float(row["percent"])
    return found


def compute(config: Mapping[str, Any], records: Mapping[str, Record]) -> dict[str, Any]:
    """Both sets of numbers in percent, and by how much training changed them."""
    table, tiny = published(), read(records["styles"])
    ks = [k for k in KS if k in tiny.k]
    solved = {split: _solved(tiny, split, ks) for split in SPLITS}
    changes: dict[str, dict[str, Any]] = {}
    for benchmark, measure in LAST.items():
        row = table[benchmark][measure]
        changes[f"{benchmark}, {measure}"] = {name: row[name] - row["base"] for name in METHODS}
    for split, percents in solved.items():
        gains = {name: (values - percents["base"])[:, -1] for name, values in percents.items()}
        changes[split] = {name: seeds.over_seeds(gain) for name, gain in gains.items() if name != "base"}
    curves = {name: _percent(values) for name, values in solved["train"].items()}
    measured = {"k": ks, "seeds": len(tiny.bases), "curves": curves}
    return {"published": table, "measured": measured, "changes": changes}


def _percent(values: np.ndarray) -> dict[str, Any]:
    """Means of percentages over seeds, with intervals inside [0, 100]."""
    found = seeds.over_seeds(values / 100, probability_interval)
    return {name: [None if p is None else 100 * p for p in bound] for name, bound in found.items()}


def _solved(tiny: Results, split: Split, ks: list[int]) -> dict[str, np.ndarray]:
    """Pass@k in percent by method, (seeds, ks), every seed after its own base's."""
    ends = {"base": {base.seed: base.on(split) for base in tiny.bases}}
    for run in tiny.of_group("main"):
        if run.name in METHODS:
            ends.setdefault(run.name, {})[run.seed] = run.on(split)
    return {
        name: 100 * np.array([[tiny.pass_at(of[base.seed], k) for k in ks] for base in tiny.bases])
        for name, of in ends.items()
    }


def findings(results: Mapping[str, Any]) -> list[str]:
    """Whether the methods come in the same order there and here."""
    bird = results["changes"][f"Bird, {LAST['Bird']}"]
    said = []
    for split, words in SPLITS.items():
        change = {name: _mean(found) for name, found in results["changes"][split].items()}
        if len(change) > 2:
            rank = spearmanr([bird[name] for name in change], list(change.values()))
            said.append(
                f"Over {len(change)} methods the rank correlation of the changes of Pass@16 between Bird and "
                f"the tiny transformer's {words} is {rank.statistic:.2f} (p = {rank.pvalue:.2f})."
            )
    return said


def _mean(change: Any) -> float:
    return float(change["mean"] if isinstance(change, Mapping) else change)


def draw(record: Mapping[str, Any]) -> Drawing:
    """Published curves, our curves, and the changes of both, what is published on a shaded ground."""
    results = record["results"]
    drawing, (left, middle, right) = theme.new(height=3.1, ncols=3, width_ratios=(1, 1, 1.3))
    bird, measured = results["published"]["Bird"], results["measured"]
    for name in ("base", *METHODS):
        known = {"mean": [bird[measure][name] for measure in ON_BIRD], "low": None}
        seeds.curve(left, range(len(ON_BIRD)), known, name)
    for name, found in measured["curves"].items():
        seeds.curve(middle, range(len(measured["k"])), found, name)
    left.set_xticks(range(len(ON_BIRD)), ON_BIRD)
    middle.set_xticks(range(len(measured["k"])), [f"Pass@{k}" for k in measured["k"]])
    left.set(facecolor=SHADE, ylabel="solved, in %", title="Published:\nlarge model, Bird")
    middle.set(ylabel="solved, in %", title="Measured here:\ntiny transformer")
    for axes in (left, middle):
        axes.margins(x=0.12)
    _draw_changes(right, results["changes"])
    seeds.legend(drawing, (left, middle), 6)
    return drawing


def _draw_changes(axes: Axes, changes: Mapping[str, Mapping[str, Any]]) -> None:
    """A row for each benchmark, its methods below one another."""
    words = []
    ours_in_words = {f"{split}": f"tiny transformer,\n{name}" for split, name in SPLITS.items()}
    for row, (where, of) in enumerate(changes.items()):
        ours = where in ours_in_words
        words.append(ours_in_words.get(where, where.replace(", ", ",\n")))
        if not ours:
            axes.axhspan(row - 0.5, row + 0.5, color=SHADE, linewidth=0, zorder=0)
        for name, change in of.items():
            at = row + (METHODS.index(name) - (len(METHODS) - 1) / 2) * 0.16
            known = change if ours else {"mean": change, "low": None, "high": None}
            seeds.dot(axes, known, at, name)
    axes.axvline(0, color=theme.GREY, linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(words)), words, fontsize=6.5)
    axes.set(ylim=(len(words) - 0.5, -0.5), xlabel="points against the base")
    axes.set_title("Change by training:\nPass@16, or average")


FIGURE = Figure(
    name="published",
    title="Published numbers and the tiny transformer",
    caption=(
        "Different models, to compare the pattern only. On shaded ground the numbers that li2025choice "
        "publishes of large language models: on Bird, and as changes against the base on Bird, Spider and "
        "out-of-domain maths; without intervals, since none are known. On white ground those of this "
        "package's tiny transformer, which adds numbers: exact Pass@k after training, means over seeds with"
        " 95% intervals, in the middle on its training prompts. The paper's first point is greedy decoding,"
        " ours Pass@1. The paper's divergences to the base have its published coefficients; ours have eta "
        "f''(1) = 0.3, eta the coefficient and f the divergence's generator."
    ),
    compute=compute,
    draw=draw,
    findings=findings,
    needs=("styles",),
)
