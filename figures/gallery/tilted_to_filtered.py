"""From the base to the filtered model as beta falls: three distances go to zero, one is infinite (A6)."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from dph_theory import FORWARD_KL, REVERSE_KL, TOTAL_VARIATION, filtered, tilted
from dph_theory.support.table import Cell, Table

from ..figure import Figure, FigureConfig
from ..records import Array, Records
from ..style import theme


@dataclass(frozen=True, kw_only=True)
class TiltedToFilteredConfig(FigureConfig):
    """The base, and the values of beta: of the models that are shown, and of the distances."""

    base: tuple[float, ...] = (0.15, 0.1, 0.05, 0.4, 0.3)
    valid: tuple[bool, ...] = (True, True, True, False, False)
    shown: tuple[float, ...] = (1.0, 0.4, 0.2)
    betas: tuple[float, float] = (0.06, 3.0)
    points: int = 120


@dataclass(frozen=True, kw_only=True)
class TiltedToFilteredNumbers:
    """p_*, the tilted models that are shown, and the distances of the tilted models to p_* along betas."""

    filtered: Array
    tilted: Array
    betas: Array
    total_variation: Array
    forward: Array
    reverse: Array


def compute(config: TiltedToFilteredConfig, records: Records) -> TiltedToFilteredNumbers:
    """The tilted models at some beta, and their distances to p_* along beta."""
    base, valid = np.array(config.base), np.array(config.valid)
    betas = np.geomspace(*config.betas, config.points)
    target, along = filtered(base, valid), tilted(base, valid, betas)
    return TiltedToFilteredNumbers(
        filtered=target,
        tilted=tilted(base, valid, np.array(config.shown)),
        betas=betas,
        total_variation=TOTAL_VARIATION(along, target),
        # KL(p_* || p_b) is the forward KL of the policy p_b from the reference p_*.
        forward=FORWARD_KL(along, target),
        reverse=REVERSE_KL(along, target),
    )


def table(results: TiltedToFilteredNumbers) -> Table:
    """The distances at both ends of beta."""
    head = ("beta", "TV(p_beta, p_*)", "KL(p_* || p_beta)", "KL(p_beta || p_*)")
    columns = (results.total_variation, results.forward, results.reverse)
    rows: list[list[Cell]] = [
        [f"{results.betas[end]:g}", *(float(column[end]) for column in columns)] for end in (0, -1)
    ]
    return Table.of(head, rows)


def draw(config: TiltedToFilteredConfig, results: TiltedToFilteredNumbers) -> Drawing:
    """Left: the laws as bars; right: their distances to the filtered model."""
    drawing, (left, right) = theme.new(ncols=2, width_ratios=(1.4, 1))
    outcomes = np.arange(len(config.base))
    # Light to dark, so that the order survives in greyscale.
    shades = ("#C6E3F5", theme.SKY, theme.BLUE)
    shown = [
        (rf"$p_\beta$, $\beta = {beta:g}$", law, shade)
        for beta, law, shade in zip(config.shown, results.tilted, shades, strict=False)
    ]
    series = [
        (r"base $a$", np.array(config.base), "white"),
        *shown,
        (r"filtered $p_*$", results.filtered, theme.BLACK),
    ]
    width = 0.8 / len(series)
    for index, (name, law, color) in enumerate(series):
        places = outcomes + (index - (len(series) - 1) / 2) * width
        left.bar(places, law, width, color=color, edgecolor=theme.BLACK, linewidth=0.4, label=name)
    left.set_xticks(outcomes, ["valid" if v else "invalid" for v in config.valid])
    highest = max(law.max() for _, law, _ in series)
    left.set(xlabel="outcome", ylabel="probability", title="The laws", ylim=(0, 1.35 * highest))
    left.legend(loc="upper center", ncol=3)
    _draw_distances(right, results)
    return drawing


def _draw_distances(axes: Axes, results: TiltedToFilteredNumbers) -> None:
    """Infinite values have a height of their own, above all finite ones."""
    betas, infinite = results.betas, 30.0
    reverse = np.where(np.isinf(results.reverse), infinite, results.reverse)
    axes.plot(betas, reverse, "-.", color=theme.VERMILLION, label=r"$\mathrm{KL}(p_\beta\,\|\,p_*)$")
    axes.plot(betas, results.forward, "--", color=theme.BLUE, label=r"$\mathrm{KL}(p_*\,\|\,p_\beta)$")
    axes.plot(betas, results.total_variation, color=theme.GREEN, label=r"$\mathrm{TV}(p_\beta, p_*)$")
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
        "A base model a over five answers, three of them valid (correct): the filtered model p_* is the base "
        "restricted to these, and the tilted model p_beta maximises the pass rate minus beta times the KL "
        "from the base. Left: as beta falls, p_beta moves mass onto the valid answers and keeps their "
        "proportions. Right: its total variation and KL(p_* || p_beta) to the filtered model vanish, but "
        "KL(p_beta || p_*) is infinite for every beta above 0 (A6), so the filtered model cannot be a "
        "reverse-KL target; all values are exact."
    ),
    results=TiltedToFilteredNumbers,
    compute=compute,
    draw=draw,
    table=table,
    config=TiltedToFilteredConfig(),
    quick=TiltedToFilteredConfig(points=12),
)
