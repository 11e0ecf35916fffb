"""What each published advantage weighs: its exact weight on the gradient of a prompt's pass rate (E4)."""

from dataclasses import dataclass
from textwrap import fill
from typing import Literal

import numpy as np
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullFormatter
from scipy.special import expit, logit

from dph_theory.support.table import Cell, Table

from ..figure import Figure, FigureConfig
from ..records import Array, Records
from ..style import theme

COLUMNS = 4
LINES: tuple[tuple[Literal["-", "--", ":"], str, float], ...] = (
    ("-", theme.BLUE, 1.1),
    ("--", theme.VERMILLION, 1.4),
    (":", theme.BLACK, 1.9),
)
"""Style, colour and width by group size: the styles alone tell them apart in grey."""
LEAST, MOST = 0.03, 60.0
"""The weights that are shown."""


@dataclass(frozen=True, kw_only=True)
class WhatYourAdvantageWeighsConfig(FigureConfig):
    """Group sizes; the pass rates run from the smallest to one minus it, evenly in log odds."""

    sizes: tuple[int, ...] = (4, 8, 16)
    smallest: float = 0.01
    points: int = 17


@dataclass(frozen=True, kw_only=True)
class WhatYourAdvantageWeighsWeights:
    """The weight alpha_G(V) of an advantage in groups of G, along the pass rates."""

    advantage: str
    group_size: int
    weight: Array


@dataclass(frozen=True, kw_only=True)
class WhatYourAdvantageWeighsNumbers:
    """The pass rates, and every advantage at every group size, advantages first."""

    validities: Array
    weights: tuple[WhatYourAdvantageWeighsWeights, ...]


def compute(config: WhatYourAdvantageWeighsConfig, records: Records) -> WhatYourAdvantageWeighsNumbers:
    """The weights of the catalogue's advantages, by every outcome of a group."""
    from dph_theory.audit.advantage import tabulate, weight_of
    from dph_theory.methods.advantages import FORMS

    end = logit(config.smallest)
    v = expit(np.linspace(end, -end, config.points))
    found = [
        WhatYourAdvantageWeighsWeights(
            advantage=form.name,
            group_size=size,
            weight=weight_of(tabulate(form.advantage, size), v, drops_equal_groups=form.drops),
        )
        for form in FORMS
        for size in config.sizes
        if size <= form.largest_group
    ]
    return WhatYourAdvantageWeighsNumbers(validities=v, weights=tuple(found))


def table(results: WhatYourAdvantageWeighsNumbers) -> Table:
    """The weight on the rarest and on the most frequent success, and at one half."""
    v = results.validities
    places = (0, len(v) // 2, len(v) - 1)
    head = ("advantage", "G", *(f"V = {v[place]:.2g}" for place in places))
    rows: list[tuple[Cell, ...]] = [
        (w.advantage, f"{w.group_size}", *(float(w.weight[p]) for p in places)) for w in results.weights
    ]
    return Table.of(head, rows)


def draw(config: WhatYourAdvantageWeighsConfig, results: WhatYourAdvantageWeighsNumbers) -> Drawing:
    """A panel an advantage, a line a group size."""
    names = list(dict.fromkeys(w.advantage for w in results.weights))
    rows = -(-(len(names) + 1) // COLUMNS)
    drawing, panels = theme.new(height=1.65 * rows, nrows=rows, ncols=COLUMNS, sharex=True, sharey=True)
    sizes = dict(zip(config.sizes, LINES, strict=False))
    for panel, name in zip(panels.flat, names, strict=False):
        panel.axhline(1.0, color=theme.GREY, linewidth=0.5)
        for weights in (w for w in results.weights if w.advantage == name):
            line, color, width = sizes[weights.group_size]
            seen = np.where(weights.weight > 0, weights.weight, np.nan)
            panel.plot(results.validities, seen, line, color=color, linewidth=width)
        panel.set_title(fill(name, 24), fontsize=theme.points(7.5))
        panel.set(xscale="logit", yscale="log", ylim=(LEAST, MOST))
        panel.xaxis.set_major_locator(FixedLocator([0.01, 0.1, 0.5, 0.9, 0.99]))
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.set_xticklabels([".01", ".1", ".5", ".9", ".99"])
    for panel in panels.flat[len(names) :]:
        panel.set_visible(False)
    for panel in panels.flat[max(len(names) - COLUMNS, 0) : len(names)]:
        panel.tick_params(labelbottom=True)
    drawing.supxlabel("pass rate $V$ of a prompt", fontsize=theme.points(8))
    drawing.supylabel(r"weight $\alpha_G(V)$ on $\nabla V$", fontsize=theme.points(8))
    handles = [
        Line2D([], [], linestyle=line, color=color, linewidth=width, label=f"$G = {size}$")
        for size, (line, color, width) in sizes.items()
    ]
    handles.append(Line2D([], [], color=theme.GREY, linewidth=0.5, label="the pass rate itself"))
    drawing.legend(handles=handles, loc="lower right", bbox_to_anchor=(0.98, 0.06))
    return drawing


FIGURE = Figure(
    name="what_your_advantage_weighs",
    title="GRPO weighs rare and frequent success alike; MaxRL and PKPO weigh rare success",
    caption=(
        "The weight alpha_G(V) that each published advantage over groups of G answers gives the gradient of "
        "a prompt's pass rate V, one panel each: its expected gradient is alpha_G(V) grad V (E4), and the "
        "grey line is the weight 1 of the pass rate itself. All values are exact, by every outcome of a "
        "group alone; pass@4 training has no weight at all at G = 4, so that this line is missing, and the "
        "bonus by rank is enumerated up to G = 8."
    ),
    results=WhatYourAdvantageWeighsNumbers,
    compute=compute,
    draw=draw,
    table=table,
    config=WhatYourAdvantageWeighsConfig(),
    quick=WhatYourAdvantageWeighsConfig(sizes=(4,), points=5),
    packages=("numpy", "scipy", "torch"),
)
