"""How far filtering token by token is from filtering whole answers, on three grammars (E3)."""

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure as Drawing

from dph_theory.support.table import Cell, Table
from toy_lm.filtering import LENGTHS, distances

from ..figure import Figure, FigureConfig
from ..records import Array, Records
from ..style import seeds, theme

TITLES = {"brackets": "Balanced brackets", "json": "JSON-like texts", "arithmetic": "Arithmetic"}


@dataclass(frozen=True, kw_only=True)
class FilteringConfig(FigureConfig):
    """The texts' lengths in symbols, and how many random bases the means are over."""

    lengths: tuple[int, ...] = (8, 12, 16, 20, 24, 28, 32)
    bases: int = 5


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """Of one grammar, along the lengths, in nats: -log A1, KL(loc||a), KL(loc||p_*), KL(p_*||loc)."""

    filtering: Array
    local: Array
    local_to_filtered: Array
    filtered_to_local: Array


@dataclass(frozen=True, kw_only=True)
class FilteringNumbers:
    """The grammars by name."""

    lengths: tuple[int, ...]
    grammars: dict[str, Grammar]


def compute(config: FilteringConfig, records: Records) -> FilteringNumbers:
    """The distances of every grammar at every length, means over the bases of `dph toy filtering`."""
    grammars = {}
    for name in TITLES:
        found = [distances(name, length, bases=config.bases, seed=config.seed) for length in config.lengths]
        grammars[name] = Grammar(
            filtering=np.array([at.filtering for at in found]),
            local=np.array([at.local for at in found]),
            local_to_filtered=np.array([at.local_to_filtered for at in found]),
            filtered_to_local=np.array([at.filtered_to_local for at in found]),
        )
    return FilteringNumbers(lengths=config.lengths, grammars=grammars)


def table(results: FilteringNumbers) -> Table:
    """The distances at the lengths of `dph toy filtering`, or the longest."""
    head = ("grammar", "length", "-log A1 = KL(p_*||a)", "KL(loc||a)", "KL(loc||p_*)", "KL(p_*||loc)")
    rows: list[list[Cell]] = []
    for name, found in results.grammars.items():
        length = LENGTHS[name] if LENGTHS[name] in results.lengths else results.lengths[-1]
        at = results.lengths.index(length)
        columns = (found.filtering, found.local, found.local_to_filtered, found.filtered_to_local)
        rows.append([name, length, *(float(column[at]) for column in columns)])
    return Table.of(head, rows)


def draw(config: FilteringConfig, results: FilteringNumbers) -> Drawing:
    """A panel a grammar."""
    drawing, axes = theme.new(ncols=len(results.grammars))
    for ax, (name, found) in zip(axes, results.grammars.items(), strict=True):
        ax.plot(results.lengths, found.filtering, ":", color=theme.GREY, label=r"KL($p_*$ || base)")
        ax.plot(results.lengths, found.local, "-.", color=theme.BLACK, label="KL(local || base)")
        ax.plot(results.lengths, found.local_to_filtered, color=theme.VERMILLION, label=r"KL(local || $p_*$)")
        ax.plot(results.lengths, found.filtered_to_local, "--", color=theme.BLUE, label=r"KL($p_*$ || local)")
        ax.set(xlabel="length in symbols", ylabel="KL in nats", title=TITLES[name], ylim=(0, None))
    seeds.legend(drawing, axes[:1], 4)
    return drawing


FIGURE = Figure(
    name="filtering",
    title="Filtering tokens strays from filtering answers, the further the longer the text",
    caption=(
        "KL in nats of the filtered model p_* (the base restricted to valid texts) and of the locally "
        "filtered model (local: each token drawn among those that some valid text continues, as grammar- "
        "constrained decoding does) to the base and to each other, against the length of the text (E3). "
        "KL(local || base) is KL(p_* || base) plus KL(local || p_*), which is what local filtering costs "
        "beyond the least. Balanced brackets, JSON-like texts and arithmetic; exact for each random base, "
        "means over five."
    ),
    results=FilteringNumbers,
    compute=compute,
    draw=draw,
    table=table,
    config=FilteringConfig(),
    quick=FilteringConfig(lengths=(8, 12), bases=2),
)
