"""Collapse under misspecification: what each divergence fits in two families that are too small (A10)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

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
    reference = records["collapse"]["results"]["reference"]
    target = reference["targets"][0]
    families = sorted({line["family"] for line in reference["fits"]})
    return {
        "target": {
            "top_share": target["top_share"], "entropy": target["entropy"], "coverage": 1.0, "validity": 1.0,
        },
        "base_rate": target["base_rate"],
        "families": [_family(reference, name) for name in families],
    }  # fmt: skip


def _family(reference: Mapping[str, Any], name: str) -> dict[str, Any]:
    fits = [line for line in reference["fits"] if line["family"] == name]
    reverse = [line for line in fits if line["objective"] == "reverse_kl"]
    # The forward KL is the alpha-divergence of alpha = 1.
    dial = [
        line | {"alpha": line.get("alpha", 1.0)}
        for line in fits
        if line["objective"] in ("alpha", "forward_kl")
    ]
    return {
        "name": name,
        **{
            method: _columns([f for f in reverse if f["method"] == method], "lambda")
            for method in ("global", "ascent")
        },
        "missed": [f["lambda"] for f in reverse if f["method"] == "ascent" and not f["is_global"]],
        "alpha": _columns(dial, "alpha"),
        "jumps": [
            leap["jump"]["strength"] for leap in reference["leaps"] if leap["family"] == name and leap["jump"]
        ],
    }


def _columns(lines: Sequence[Mapping[str, Any]], along: str) -> dict[str, list[float]]:
    lines = sorted(lines, key=lambda line: line[along])
    return {
        along: [line[along] for line in lines],
        **{name: [line[name] for line in lines] for name in ("top_share", "coverage", "validity")},
        "entropy": [float(np.log(line["effective"])) for line in lines],
    }


def findings(results: Mapping[str, Any]) -> list[str]:
    """Where the optimum of the reverse KL jumps, what it ends as, and where ascent does not reach it."""
    said = []
    for family in results["families"]:
        best, jumps, missed = family["global"], family["jumps"], family["missed"]
        how = (
            f"jumps at 1/beta = {', '.join(f'{at:.3f}' for at in jumps)}" if jumps else "moves without a jump"
        )
        fails = (
            f"misses it at 1/beta = {', '.join(f'{at:.3g}' for at in missed)}"
            if missed
            else "always reaches it"
        )
        what = f"{family['name'].capitalize()} bigrams: the global optimum of the reverse KL {how}"
        said.append(
            f"{what}, and at 1/beta = {best['lambda'][-1]:g} it has {_last(best)}; ascent from the base "
            f"{fails}. The forward KL has {_last(family['alpha'])}, the filtered model entropy "
            f"{results['target']['entropy']:.3f}."
        )
    return said


def _last(columns: Mapping[str, list[float]]) -> str:
    words = (f"{name} {columns[name][-1]:.3f}" for name in ("validity", "coverage", "entropy"))
    return ", ".join(words)


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
        left.set_xlim(family["global"]["lambda"][0] / 1.1, family["global"]["lambda"][-1] * 1.1)
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
    cuts = np.searchsorted(best["lambda"], family["jumps"])
    for number, part in enumerate(np.split(np.arange(len(best["lambda"])), cuts)):
        x, y = np.array(best["lambda"])[part], np.array(best[measure])[part]
        ax.plot(x, y, label="global optimum" if number == 0 else None, **_GLOBAL)
    ax.plot(ascent["lambda"], ascent[measure], label="reached by ascent from the base", **_ASCENT)
    for at in family["jumps"]:
        ax.axvline(at, color=theme.VERMILLION, linewidth=0.8, linestyle="--", label="the optimum jumps")


def _along_alpha(ax: Axes, family: Mapping[str, Any], measure: str) -> None:
    alpha, values = family["alpha"]["alpha"], family["alpha"][measure]
    ax.plot(alpha, values, label=r"$\alpha$-divergence to $p_*$", **theme.METHODS["DPH-alpha"])
    ax.plot(alpha[-1], values[-1], "o", color=theme.BLUE, markersize=5, label=r"forward KL ($\alpha = 1$)")


FIGURE = Figure(
    name="collapse",
    title="Collapse under misspecification",
    caption=(
        "Bigram models fitted to balanced brackets of length 8, which they cannot represent; homogeneous "
        "models have one transition law for all positions. For each family, left: the global optimum of "
        "reverse KL to the tilted model along 1/beta (the lowest minimum from many starts), and what "
        "gradient ascent from the base reaches (crosses, apart from the circles where it misses it). Right: "
        "the global optima of alpha-divergences to the filtered model, up to forward KL in closed form. "
        "Dotted: p_* itself. The likeliest valid word's share, the entropy of the valid words and the "
        "coverage of p_* (its mass on words with at least half their due among the fit's valid ones) tell "
        "collapse, validity what was gained for it (A10). No value has sampling noise."
    ),
    compute=compute,
    draw=draw,
    findings=findings,
    needs=("collapse",),
)
