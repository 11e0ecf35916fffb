"""Collapse under misspecification: what each divergence fits in two families that are too small (A10)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from dph_theory.support.table import Table
from toy_lm.collapse.results import FAMILIES, FittedPolicy, ReferenceFits, select

from ..figure import Figure, FigureConfig
from ..records import Array, Records
from ..style import seeds, theme

MEASURES = {
    "entropy": "entropy of valid\nwords in nats",
    "coverage": r"coverage of $p_*$",
    "validity": r"validity $\pi(Y_1)$",
}
TICKS = (0.5, 1, 2, 5, 10, 20)
_GLOBAL: dict[str, Any] = {"color": theme.PURPLE, "linestyle": "-", "marker": "o"}
_ASCENT: dict[str, Any] = {
    "color": theme.BLACK, "linestyle": "none", "marker": "x", "markersize": 5, "markeredgewidth": 0.9,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The measures along a setting `at`; entropy in nats."""

    at: Array
    entropy: Array
    coverage: Array
    validity: Array

    @classmethod
    def of(cls, fits: Mapping[float | None, FittedPolicy]) -> "Columns":
        """The fits by their setting, in its order."""
        known = {setting: fit for setting, fit in fits.items() if setting is not None}
        rows = [known[setting] for setting in sorted(known)]
        return cls(
            at=np.array(sorted(known)),
            entropy=np.log([fit.effective for fit in rows]),
            coverage=np.array([fit.coverage for fit in rows]),
            validity=np.array([fit.validity for fit in rows]),
        )


@dataclass(frozen=True, kw_only=True)
class Family:
    """Along 1/beta of reverse KL the global optima and what ascent reached; along alpha; the jumps.

    `missed` are the 1/beta at which ascent did not reach the optimum.
    """

    name: str
    optima: Columns
    ascent: Columns
    missed: tuple[float, ...]
    alpha: Columns
    jumps: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class CollapseNumbers:
    """The families, and by measure what p_* has."""

    target: dict[str, float]
    families: tuple[Family, ...]


def compute(config: FigureConfig, records: Records) -> CollapseNumbers:
    """By family: the measures along 1/beta of reverse KL and along alpha, the jumps, and what p_* has."""
    reference = records.collapse.reference
    target = reference.target
    measures = (target.entropy, 1.0, 1.0)
    return CollapseNumbers(
        target=dict(zip(MEASURES, measures, strict=True)),
        families=tuple(_family(reference, name) for name in FAMILIES),
    )


def _family(reference: ReferenceFits, name: str) -> Family:
    ascent = select(reference.fits, family=name, method="ascent", objective="reverse_kl")
    # The forward KL is the alpha-divergence of alpha = 1.
    covering = [*select(reference.fits, family=name, objective="alpha"), reference.forward_kl(name)]
    leaps = select(reference.leaps, family=name)
    return Family(
        name=name,
        optima=Columns.of({fit.inverse_beta: fit for fit in reference.optima(name)}),
        ascent=Columns.of({fit.inverse_beta: fit for fit in ascent}),
        missed=tuple(fit.inverse_beta for fit in ascent if not fit.is_global and fit.inverse_beta),
        alpha=Columns.of({fit.alpha or 1.0: fit for fit in covering}),
        jumps=tuple(leap.jump for leap in leaps if leap.jump is not None),
    )


def table(results: CollapseNumbers) -> Table:
    """Where the optimum of the reverse KL jumps, and where gradient ascent does not reach it."""
    rows = [(f"{f.name} bigrams", _listed(f.jumps), _listed(f.missed)) for f in results.families]
    return Table.of(("family", "the optimum jumps at 1/beta", "ascent misses it at 1/beta"), rows)


def _listed(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.4g}" for value in values) or "none"


def draw(config: FigureConfig, results: CollapseNumbers) -> Drawing:
    """A row a measure; by family the reverse KL along 1/beta, alpha-divergences up to the forward KL."""
    families = results.families
    drawing, axes = theme.new(
        height=4.5,
        nrows=len(MEASURES),
        ncols=2 * len(families),
        sharex="col",
        sharey="row",
        squeeze=False,
        width_ratios=[1.7, 1] * len(families),
    )
    for row, (measure, words) in zip(axes, MEASURES.items(), strict=True):
        for index, family in enumerate(families):
            _along_strength(row[2 * index], family, measure)
            _along_alpha(row[2 * index + 1], family.alpha, measure)
        for ax in row:
            theme.level(ax, results.target[measure], linestyle=(0, (1, 1)), label=r"$p_*$ itself")
        row[0].set_ylabel(words)
    for index, family in enumerate(families):
        left, right = axes[-1][2 * index : 2 * index + 2]
        left.set(xscale="log", xlabel=r"$1/\beta$ of reverse KL to $p_\beta$")
        theme.ticks(left, TICKS)
        left.set_xlim(family.optima.at[0] / 1.1, family.optima.at[-1] * 1.1)
        right.set(xlabel=r"$\alpha$ of $D_\alpha$ to $p_*$", xlim=(-0.05, 1.08))
        right.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
        axes[0][2 * index].set_title(f"{family.name.capitalize()} bigrams", loc="left")
    seeds.legend(drawing, axes[0], 3)
    return drawing


def _along_strength(ax: Axes, family: Family, measure: str) -> None:
    best, values = family.optima, getattr(family.optima, measure)
    # No line is drawn through a jump.
    cuts = np.searchsorted(best.at, family.jumps)
    for number, part in enumerate(np.split(np.arange(len(best.at)), cuts)):
        ax.plot(best.at[part], values[part], label="global optimum" if number == 0 else None, **_GLOBAL)
    reached = getattr(family.ascent, measure)
    ax.plot(family.ascent.at, reached, label="reached by ascent from the base", **_ASCENT)
    for at in family.jumps:
        ax.axvline(at, color=theme.VERMILLION, linewidth=0.8, linestyle="--", label="the optimum jumps")


def _along_alpha(ax: Axes, fits: Columns, measure: str) -> None:
    values = getattr(fits, measure)
    ax.plot(fits.at, values, label=r"$\alpha$-divergence to $p_*$", **theme.METHODS["DPH-alpha"])
    words = r"forward KL ($\alpha = 1$)"
    ax.plot(fits.at[-1], values[-1], "o", color=theme.BLUE, markersize=5, label=words)


FIGURE = Figure(
    name="collapse",
    title="Where the family is too small reverse KL keeps one word; forward KL keeps more, and errs",
    caption=(
        "Bigram models are fitted to balanced brackets of length 8, which they cannot represent; homogeneous "
        "ones use one transition law at all positions. For each family, left: the global optimum of the "
        "reverse KL to the tilted model p_beta along 1/beta (the lowest minimum from many starts), and what "
        "gradient ascent from the base reaches (crosses); right: the global optima of alpha-divergences to "
        "the filtered model p_* (dotted: p_* itself), up to the forward KL at alpha = 1. Coverage is the "
        "mass of p_* on the words that the fit, among its valid words, says at least half as often as p_*; "
        "every value is exact (A10)."
    ),
    results=CollapseNumbers,
    compute=compute,
    draw=draw,
    table=table,
    needs=("collapse",),
)
