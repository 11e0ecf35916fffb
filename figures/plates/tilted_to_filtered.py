"""From the base to the filtered model as beta falls: three distances go to zero, one is infinite (A6)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from dph_theory import FORWARD_KL, REVERSE_KL, TOTAL_VARIATION, filtered, tilted

from ..figure import Figure
from ..look import theme
from ..results.experiments import Record


def compute(config: Mapping[str, Any], records: Mapping[str, Record]) -> dict[str, Any]:
    """The tilted models at some beta, and their distances to p_* along beta."""
    base, valid = np.asarray(config["base"]), np.asarray(config["valid"], dtype=bool)
    low, high = config["betas"]
    betas = np.geomspace(low, high, config["points"])
    target, along = filtered(base, valid), tilted(base, valid, betas)
    return {
        "base": base.tolist(),
        "valid": valid.tolist(),
        "filtered": target.tolist(),
        "shown": [{"beta": beta, "p": tilted(base, valid, beta).tolist()} for beta in config["shown"]],
        "betas": betas.tolist(),
        "total_variation": TOTAL_VARIATION(along, target).tolist(),
        # KL(p_* || p_b) is the forward KL of the policy p_b from the reference p_*.
        "forward": FORWARD_KL(along, target).tolist(),
        "reverse": [float(kl) if np.isfinite(kl) else str(kl) for kl in REVERSE_KL(along, target)],
    }


def findings(results: Mapping[str, Any]) -> list[str]:
    """Where the distances end."""
    infinite = sum(kl == "inf" for kl in results["reverse"])
    return [
        f"At beta = {results['betas'][0]:g} the total variation is {results['total_variation'][0]:.2g} and "
        f"KL(p_* || p_beta) is {results['forward'][0]:.2g}; KL(p_beta || p_*) is infinite at {infinite} of "
        f"{len(results['reverse'])} values of beta."
    ]


def draw(record: Mapping[str, Any]) -> Drawing:
    """Left: the laws as bars; right: their distances to the filtered model."""
    results = record["results"]
    drawing, (left, right) = theme.new(ncols=2, width_ratios=(1.4, 1))
    outcomes = np.arange(len(results["base"]))
    series = [(r"base $a$", results["base"], "white")]
    # Light to dark, so that the order survives in greyscale.
    shades = ("#C6E3F5", theme.SKY, theme.BLUE)
    for shown, shade in zip(results["shown"], shades, strict=False):
        series.append((rf"$p_\beta$, $\beta = {shown['beta']:g}$", shown["p"], shade))
    series.append((r"filtered $p_*$", results["filtered"], theme.BLACK))
    width = 0.8 / len(series)
    for index, (name, law, color) in enumerate(series):
        places = outcomes + (index - (len(series) - 1) / 2) * width
        left.bar(places, law, width, color=color, edgecolor=theme.BLACK, linewidth=0.4, label=name)
    valid = results["valid"]
    left.set_xticks(outcomes, ["valid" if v else "invalid" for v in valid])
    highest = max(max(law) for _, law, _ in series)
    left.set(xlabel="outcome", ylabel="probability", title="The laws", ylim=(0, 1.35 * highest))
    left.legend(loc="upper center", ncol=3)
    _draw_distances(right, results)
    return drawing


def _draw_distances(axes: Axes, results: Mapping[str, Any]) -> None:
    """Infinite values have a height of their own, above all finite ones."""
    betas, infinite = results["betas"], 30.0
    reverse = [infinite if kl == "inf" else kl for kl in results["reverse"]]
    axes.plot(betas, reverse, "-.", color=theme.VERMILLION, label=r"$\mathrm{KL}(p_\beta\,\|\,p_*)$")
    axes.plot(betas, results["forward"], "--", color=theme.BLUE, label=r"$\mathrm{KL}(p_*\,\|\,p_\beta)$")
    axes.plot(betas, results["total_variation"], color=theme.GREEN, label=r"$\mathrm{TV}(p_\beta, p_*)$")
    axes.set(xscale="log", yscale="log", xlabel=r"$\beta$", ylabel=r"distance to $p_*$", ylim=(1e-7, 100))
    axes.set_yticks(
        [1e-6, 1e-4, 1e-2, 1, infinite], ["$10^{-6}$", "$10^{-4}$", "$10^{-2}$", "$1$", r"$\infty$"]
    )
    axes.minorticks_off()
    axes.set_title("Their distances to the filtered model")
    axes.legend(loc="lower right")


FIGURE = Figure(
    name="tilted_to_filtered",
    title="The tilted model approaches the filtered one, but not in reverse KL",
    caption=(
        "A base model a over five answers, three of them valid (correct). The filtered model p_* is the "
        "base restricted to its valid answers; the tilted model p_beta maximises the pass rate minus beta "
        "times the KL from the base. Left: as beta falls, p_beta moves mass onto the valid answers and "
        "keeps their proportions. Right: its total variation and KL(p_* || p_beta) to the filtered model "
        "vanish, but KL(p_beta || p_*) is infinite for every beta above 0 (A6), so the filtered model "
        "cannot be a reverse-KL target. All values are exact."
    ),
    compute=compute,
    draw=draw,
    findings=findings,
    config={
        "base": (0.15, 0.1, 0.05, 0.4, 0.3),
        "valid": (1, 1, 1, 0, 0),
        "shown": (1.0, 0.4, 0.2),
        "betas": (0.06, 3.0),
        "points": 120,
    },
    quick={"points": 12},
)
