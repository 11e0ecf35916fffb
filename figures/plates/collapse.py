"""Collapse under misspecification: what each divergence fits in two families that are too small (A10)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from toy_lm.collapse.results import FAMILIES, Fit, Reference, read, select

from ..figure import Figure
from ..look import seeds, theme
from ..results.experiments import Record

MEASURES = {
    "top_share": "share of the\ntop valid word",
    "entropy": "entropy of valid\nwords in nats",
    "coverage": r"coverage of $p_*$",
    "validity": r"validity $\pi(Y_1)$",
}
TICKS = (0.5, 1, 2, 5, 10, 20)
_GLOBAL: dict[str, Any] = {"color": theme.PURPLE, "linestyle": "-", "marker": "o"}
_ASCENT: dict[str, Any] = {
    "color": theme.BLACK, "linestyle": "none", "marker": "x", "markersize": 5, "markeredgewidth": 0.9,
}  # fmt: skip


def compute(config: Mapping[str, Any], records: Mapping[str, Record]) -> dict[str, Any]:
    """By family: the measures along 1/beta of reverse KL and along alpha, the jumps, and what p_* has."""
    reference = read(records["collapse"]).reference
    target = reference.target
    return {
        "target": {
            "top_share": target.top_share, "entropy": target.entropy, "coverage": 1.0, "validity": 1.0,
        },
        "families": [_family(reference, name) for name in FAMILIES],
    }  # fmt: skip


def _family(reference: Reference, name: str) -> dict[str, Any]:
    ascent = select(reference.fits, family=name, method="ascent", objective="reverse_kl")
    # The forward KL is the alpha-divergence of alpha = 1.
    dial = [*select(reference.fits, family=name, objective="alpha"), reference.forward_kl(name)]
    leaps = select(reference.leaps, family=name)
    return {
        "name": name,
        "global": _columns({fit.inverse_beta: fit for fit in reference.optima(name)}),
        "ascent": _columns({fit.inverse_beta: fit for fit in ascent}),
        "missed": [fit.inverse_beta for fit in ascent if not fit.is_global],
        "alpha": _columns({fit.alpha or 1.0: fit for fit in dial}),
        "jumps": [leap.jump for leap in leaps if leap.jump is not None],
    }


def _columns(fits: Mapping[float | None, Fit]) -> dict[str, list[float]]:
    """The measures along the setting, which is the column "at"."""
    known = {setting: fit for setting, fit in fits.items() if setting is not None}
    rows = [known[setting] for setting in sorted(known)]
    return {
        "at": sorted(known),
        **{name: [getattr(fit, name) for fit in rows] for name in ("top_share", "coverage", "validity")},
        "entropy": [float(np.log(fit.effective)) for fit in rows],
    }


def findings(results: Mapping[str, Any]) -> list[str]:
    """Where the optimum of the reverse KL jumps, and where gradient ascent does not reach it."""
    return [
        f"{family['name'].capitalize()} bigrams: jumps of the reverse-KL optimum at 1/beta = "
        f"{_listed(family['jumps'])}; ascent from the base misses the optimum at 1/beta = "
        f"{_listed(family['missed'])}."
        for family in results["families"]
    ]


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.4g}" for value in values) or "(none)"


def draw(record: Mapping[str, Any]) -> Drawing:
    """A row a measure; for each family the reverse KL along 1/beta, and the dial from alpha to forward KL."""
    results = record["results"]
    families = results["families"]
    drawing, axes = theme.new(
        height=5.6,
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
            _along_alpha(row[2 * index + 1], family, measure)
        for ax in row:
            ax.axhline(
                results["target"][measure],
                color=theme.GREY,
                linewidth=0.8,
                linestyle=(0, (1, 1)),
                label=r"$p_*$ itself",
            )
        row[0].set_ylabel(words)
    for index, family in enumerate(families):
        left, right = axes[-1][2 * index : 2 * index + 2]
        left.set(xscale="log", xlabel=r"$1/\beta$ of reverse KL to $p_\beta$")
        left.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        left.minorticks_off()
        left.set_xlim(family["global"]["at"][0] / 1.1, family["global"]["at"][-1] * 1.1)
        right.set(
            xlabel=r"$\alpha$ of $D_\alpha$ to $p_*$",
            xlim=(-0.05, 1.08),
            xticks=[0, 0.5, 1],
            xticklabels=["0", ".5", "1"],
        )
        axes[0][2 * index].set_title(f"{family['name'].capitalize()} bigrams", loc="left")
    seeds.legend(drawing, axes[0], 3)
    return drawing


def _along_strength(ax: Axes, family: Mapping[str, Any], measure: str) -> None:
    best, ascent = family["global"], family["ascent"]
    # No line is drawn through a jump.
    cuts = np.searchsorted(best["at"], family["jumps"])
    for number, part in enumerate(np.split(np.arange(len(best["at"])), cuts)):
        x, y = np.array(best["at"])[part], np.array(best[measure])[part]
        ax.plot(x, y, label="global optimum" if number == 0 else None, **_GLOBAL)
    ax.plot(ascent["at"], ascent[measure], label="reached by ascent from the base", **_ASCENT)
    for at in family["jumps"]:
        ax.axvline(at, color=theme.VERMILLION, linewidth=0.8, linestyle="--", label="the optimum jumps")


def _along_alpha(ax: Axes, family: Mapping[str, Any], measure: str) -> None:
    alpha, values = family["alpha"]["at"], family["alpha"][measure]
    ax.plot(alpha, values, label=r"$\alpha$-divergence to $p_*$", **theme.METHODS["DPH-alpha"])
    ax.plot(alpha[-1], values[-1], "o", color=theme.BLUE, markersize=5, label=r"forward KL ($\alpha = 1$)")


FIGURE = Figure(
    name="collapse",
    title="Collapse under misspecification",
    caption=(
        "What each divergence selects when the model family is too small. Bigram models are fitted to "
        "balanced brackets of length 8, which they cannot represent; homogeneous ones use one transition law "
        "at all positions. For each family, left: the global optimum of the reverse KL to the tilted model "
        "p_beta along 1/beta (the lowest minimum from many starts), and what gradient ascent from the base "
        "reaches (crosses). Right: the global optima of alpha-divergences to the filtered model p_*, up to "
        "the forward KL at alpha = 1. Dotted: p_* itself. Coverage is the mass of p_* on the words that the "
        "fit, among its valid words, says at least half as often as p_*. Every value is exact (A10)."
    ),
    compute=compute,
    draw=draw,
    findings=findings,
    needs=("collapse",),
)
