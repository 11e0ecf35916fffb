"""Styles over 32 samples: which of the base's five ways to answer each method keeps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from dph_theory.support.table import Table
from toy_lm.styles.results import Split, scores

from ..figure import Figure, FigureConfig
from ..records import Records
from ..style import seeds, theme
from ..style.seeds import Means

COLUMNS = 5
SPLIT: Split = "train"


@dataclass(frozen=True, kw_only=True)
class Styles:
    """How many of 32 samples have each style, from the most used on; how many styles they have."""

    histogram: Means
    distinct: Means


@dataclass(frozen=True)
class StylesNumbers:
    """The styles by method, the base's among them."""

    methods: dict[str, Styles]


def compute(config: FigureConfig, records: Records) -> StylesNumbers:
    """By method: how many of 32 samples have each style, and how many styles a prompt's samples have."""
    tiny = records.styles
    score = scores(tiny, SPLIT)
    # By rank: training may favour another style from every base.
    ranked = {
        label: [sorted(end.style_histogram, reverse=True) for end in ends]
        for label, ends in tiny.ends(SPLIT).items()
    }
    return StylesNumbers(
        {
            label: Styles(histogram=seeds.over_seeds(rows), distinct=Means.of(score[label].distinct_styles))
            for label, rows in ranked.items()
        }
    )


def table(results: StylesNumbers) -> Table:
    """Distinct styles in 32 samples by method, means over seeds."""
    rows = [(label, float(found.distinct.mean)) for label, found in results.methods.items()]
    return Table.of(("method", "distinct styles in 32 samples"), rows)


def draw(config: FigureConfig, results: StylesNumbers) -> Drawing:
    """Left: a histogram a method, the base's outlined over it; right: distinct styles."""
    methods = results.methods
    trained = [label for label in methods if label != "base"]
    columns = min(COLUMNS, len(trained))
    rows = -(-len(trained) // columns)
    drawing, axes = theme.new(
        height=1.2 + 1.15 * rows,
        nrows=rows,
        ncols=columns + 1,
        squeeze=False,
        width_ratios=[1] * columns + [1.6],
    )
    grid = axes[0, 0].get_gridspec()
    panels = axes[:, :-1].ravel()
    for ax in (*axes[:, -1], *panels[len(trained) :]):
        ax.remove()
    _histograms(panels[: len(trained)], methods, columns)
    drawing.legend(*panels[0].get_legend_handles_labels(), loc="outside lower left", ncols=2)
    _distinct(drawing.add_subplot(grid[:, -1]), methods)
    return drawing


def _histograms(panels: Sequence[Axes], methods: Mapping[str, Styles], columns: int) -> None:
    top = max(_top(found.histogram) for found in methods.values())
    trained = [label for label in methods if label != "base"]
    for number, (ax, label) in enumerate(zip(panels, trained, strict=True)):
        if number:
            ax.sharex(panels[0])
            ax.sharey(panels[0])
        _histogram(ax, methods["base"].histogram.mean, methods[label].histogram, label)
        ax.tick_params(labelleft=number % columns == 0, labelbottom=number + columns >= len(panels))
    panels[0].set(ylim=(0, 1.05 * top), ylabel="of 32 samples")
    panels[-1 - (len(panels) - 1) % columns].set_xlabel("style by rank")


def _top(histogram: Means) -> float:
    return float(np.max(histogram.mean if histogram.high is None else histogram.high))


def _histogram(ax: Axes, base: np.ndarray, found: Means, label: str) -> None:
    number = np.arange(1, len(base) + 1)
    ax.bar(number, found.mean, 0.75, color=seeds.look(label)["color"], alpha=0.6, label="after training")
    ax.bar(number, base, 0.75, fill=False, edgecolor=theme.BLACK, linestyle=":", linewidth=0.9, label="base")
    if found.low is not None and found.high is not None:
        reach = np.abs(np.array([found.low, found.high]) - found.mean)
        ax.errorbar(number, found.mean, reach, fmt="none", ecolor=theme.BLACK, elinewidth=0.8)
    ax.set_xticks(number)
    ax.set_title(
        seeds.written(label).replace(", ", ",\n").replace(" on ", "\non "), fontsize=theme.points(7.5)
    )


def _distinct(ax: Axes, methods: Mapping[str, Styles]) -> None:
    for row, (label, found) in enumerate(methods.items()):
        seeds.dot(ax, found.distinct, row, label)
    ax.axvline(float(methods["base"].distinct.mean), color=theme.GREY, linewidth=0.8, linestyle=":")
    seeds.rows(ax, methods)
    ax.set_xlabel("distinct styles\nin 32 samples")


FIGURE = Figure(
    name="styles",
    title="DAPO, without an anchor, drops styles; strong anchors keep nearly all",
    caption=(
        "A tiny transformer answers sums in one of five styles, and most prompts accept one style only, "
        "which they do not show; RKL is reverse KL to the base on all prompts, and DPH methods put their "
        "divergence on stored correct samples of the prompts that the base solves. Left: the expected number "
        "of 32 samples in each style, averaged over training prompts and ranked from the most to the least "
        "used style of each model, after training (bars) and before (dotted outline). Right: the expected "
        "number of distinct styles among a prompt's 32 samples; exact for each model, means over seeds with "
        "95% intervals."
    ),
    results=StylesNumbers,
    compute=compute,
    draw=draw,
    table=table,
    needs=("styles",),
)
