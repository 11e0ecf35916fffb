"""The published numbers beside those of the tiny transformer: other models, perhaps the same pattern."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from scipy.stats import spearmanr

from dph_theory.intervals import probability_interval
from dph_theory.support.table import Table
from toy_lm.styles.results import Split
from toy_lm.styles.results import StylesResults as Tiny

from ..figure import Figure, FigureConfig
from ..records import Records
from ..style import seeds, theme
from ..style.seeds import Means

PUBLISHED = Path(__file__).parents[1] / "data" / "published.csv"
"""benchmark, measure, method, percent, source (a paper key)."""
METHODS = ("GRPO", "DAPO", "RKL", "DPH-F", "DPH-JS")
ON_BIRD = ("greedy", "Pass@8", "Pass@16")
KS = (1, 8, 16)
"""Exact Pass@1 stands here where the paper decodes greedily."""
LAST = {"Bird": "Pass@16", "Spider": "Pass@16", "out-of-domain maths": "average"}
"""What is compared with the base, by benchmark."""
SHADE = "#f0f0f0"
"""Behind what is published, so that nobody takes it for ours."""


@dataclass(frozen=True, kw_only=True)
class PublishedNumbers:
    """In percent, by method: what is published, what was measured at ks, and the changes against the base.

    The changes stand under benchmark and measure, and under the splits of the tiny transformer.
    """

    published: dict[str, dict[str, dict[str, float]]]
    k: tuple[int, ...]
    curves: dict[str, Means]
    published_changes: dict[str, dict[str, Means]]
    changes: dict[Split, dict[str, Means]]


def published() -> dict[str, dict[str, dict[str, float]]]:
    """The published percentages by benchmark, measure and method."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        for benchmark, measure, method, percent, _ in list(csv.reader(file))[1:]:
            found.setdefault(benchmark, {}).setdefault(measure, {})[method] = float(percent)
    return found


def compute(config: FigureConfig, records: Records) -> PublishedNumbers:
    """Both sets of numbers in percent, and by how much training changed them."""
    tables, tiny = published(), records.styles
    ks = [k for k in KS if k in tiny.k]
    solved = {split: _solved(tiny, split, ks) for split in seeds.SPLITS}
    last = {f"{name}, {measure}": tables[name][measure] for name, measure in LAST.items()}
    return PublishedNumbers(
        published=tables,
        k=tuple(ks),
        curves={
            name: seeds.over_seeds(values / 100, probability_interval).scaled(100)
            for name, values in solved["train"].items()
        },
        published_changes={
            words: {name: Means(np.array(row[name] - row["base"])) for name in METHODS}
            for words, row in last.items()
        },
        changes={
            split: {
                name: seeds.over_seeds((values - percents["base"])[:, -1])
                for name, values in percents.items()
                if name != "base"
            }
            for split, percents in solved.items()
        },
    )


def _solved(tiny: Tiny, split: Split, ks: list[int]) -> dict[str, np.ndarray]:
    """Pass@k in percent by method, (seeds, ks), the seeds in the order of their bases."""
    ends = {"base": {base.seed: base.on(split) for base in tiny.bases}}
    ends |= {
        name: {run.seed: run.on(split) for run in runs} for name, runs in tiny.by_method(METHODS).items()
    }
    return {
        name: 100 * np.array([[tiny.pass_at(of[base.seed], k) for k in ks] for base in tiny.bases])
        for name, of in ends.items()
    }


def table(results: PublishedNumbers) -> Table:
    """Whether the methods come in the same order on Bird and here: rank correlations of the changes."""
    bird = next(iter(results.published_changes.values()))
    rows = []
    for split, words in seeds.SPLITS.items():
        change = {name: float(found.mean) for name, found in results.changes[split].items()}
        if len(change) > 2:
            rank = spearmanr([bird[name].mean for name in change], list(change.values()))
            rows.append((words, float(len(change)), float(rank.statistic), float(rank.pvalue)))
    return Table.of(("prompts", "methods", "rank correlation with Bird", "p"), rows)


def draw(config: FigureConfig, results: PublishedNumbers) -> Drawing:
    """Published curves, our curves, and the changes of both, what is published on a shaded ground."""
    drawing, (left, middle, right) = theme.new(height=3.1, ncols=3, width_ratios=(1, 1, 1.3))
    bird = results.published["Bird"]
    for name in ("base", *METHODS):
        known = Means(np.array([bird[measure][name] for measure in ON_BIRD]))
        seeds.curve(left, range(len(ON_BIRD)), known, name)
    for place, (name, found) in enumerate(results.curves.items()):
        seeds.curve(middle, range(len(results.k)), found, name, beside=2.5 * (place - 2.5))
    left.set_xticks(range(len(ON_BIRD)), ON_BIRD)
    middle.set_xticks(range(len(results.k)), [f"Pass@{k}" for k in results.k])
    left.set(facecolor=SHADE, ylabel="solved, in %", title="Published:\nlarge model, Bird")
    middle.set(ylabel="solved, in %", title="Measured here:\ntiny transformer")
    for axes in (left, middle):
        axes.margins(x=0.12)
    _draw_changes(right, results)
    seeds.legend(drawing, (left, middle), 6)
    return drawing


def _draw_changes(axes: Axes, results: PublishedNumbers) -> None:
    """A row for each benchmark, its methods below one another; what is published on a shaded ground."""
    theirs = {where.replace(", ", ",\n"): of for where, of in results.published_changes.items()}
    ours = {f"tiny transformer,\n{seeds.SPLITS[split]}": of for split, of in results.changes.items()}
    for row, of in enumerate((theirs | ours).values()):
        if row < len(theirs):
            axes.axhspan(row - 0.5, row + 0.5, color=SHADE, linewidth=0, zorder=0)
        for name, change in of.items():
            seeds.dot(axes, change, row + (METHODS.index(name) - (len(METHODS) - 1) / 2) * 0.16, name)
    axes.axvline(0, color=theme.GREY, linewidth=0.8, linestyle=":")
    words = [*theirs, *ours]
    axes.set_yticks(range(len(words)), words, fontsize=theme.points(6.5))
    axes.set(ylim=(len(words) - 0.5, -0.5), xlabel="points against the base")
    axes.set_title("Change by training:\nPass@16, or average")


FIGURE = Figure(
    name="published",
    title="In print and here, DPH methods lose less of what the base solves than GRPO and DAPO",
    caption=(
        "Different models, to compare the pattern only: on shaded ground the numbers that li2025choice "
        "publishes of large language models, whose intervals are not known, and on white ground those of "
        "this package's tiny transformer, means over seeds with 95% intervals. Left and middle: percent "
        "solved on Bird, and exact Pass@k on the transformer's training prompts; the paper's first point is "
        "greedy decoding, ours Pass@1. Right: changes against the base, also on Spider and out-of-domain "
        "maths; the paper's divergences to the base have its published coefficients, ours have eta f''(1) = "
        "0.3, eta the coefficient and f the divergence's generator."
    ),
    results=PublishedNumbers,
    compute=compute,
    draw=draw,
    table=table,
    needs=("styles",),
)
