"""Where a family that cannot hold a target's modes goes, by divergence (li2025choice, Fig. 1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from scipy.optimize import minimize
from scipy.special import softmax

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, FDivergence, alpha_divergence
from dph_theory.support.table import Table

from ..figure import Figure, FigureConfig
from ..records import Array, Records
from ..style import theme

SAME = 1e-3
"""Optima whose mean and deviation both agree to this are one."""
NARROWEST, WIDEST = 0.6, 8.0
"""Deviations of the family; the narrowest keeps every mass of these grids a positive float64."""


@dataclass(frozen=True, kw_only=True)
class ForwardReverseFitsConfig(FigureConfig):
    """The target's modes (weight, mean, deviation) on a grid, and the alphas of the fits."""

    modes: tuple[tuple[float, float, float], ...] = ((0.5, -5.0, 0.8), (0.3, 0.0, 0.8), (0.2, 5.0, 0.8))
    range: tuple[float, float] = (-10.0, 11.0)
    points: int = 211
    wide: float = 4.0
    alpha: float = 0.5
    alphas: tuple[float, float] = (0.05, 0.95)
    alpha_points: int = 19


@dataclass(frozen=True, kw_only=True)
class ForwardReverseFitsFit:
    """A normal law at a minimum of a divergence, and the mass that it gives each mode's region."""

    value: float
    mean: float
    deviation: float
    shares: Array
    law: Array


@dataclass(frozen=True, kw_only=True)
class ForwardReverseFitsNumbers:
    """The target on x; the best fit by divergence, all minima of reverse KL, and shares along alpha."""

    x: Array
    target: Array
    target_shares: Array
    fits: dict[str, ForwardReverseFitsFit]
    reverse_minima: tuple[ForwardReverseFitsFit, ...]
    alphas: Array
    shares: Array


def gaussian(x: np.ndarray, mean: Any, deviation: Any) -> np.ndarray:
    """A normal law on a grid; means and deviations (...) give (..., outcomes)."""
    mean, deviation = np.asarray(mean)[..., None], np.asarray(deviation)[..., None]
    return np.asarray(softmax(-0.5 * ((x - mean) / deviation) ** 2, axis=-1))


def target_on(x: np.ndarray, modes: Sequence[Sequence[float]]) -> np.ndarray:
    """The mixture of (weight, mean, deviation) on a grid."""
    weights, means, deviations = np.asarray(modes).T
    return weights @ gaussian(x, means, deviations)


def minima(
    divergence: FDivergence, x: np.ndarray, target: np.ndarray, starts: np.ndarray
) -> list[list[float]]:
    """The local minima [value, mean, deviation] reached from starts (mean, deviation), best first."""

    def value_and_slope(point: np.ndarray) -> tuple[float, np.ndarray]:
        mean, deviation = point[0], np.exp(point[1])
        policy, distance = gaussian(x, mean, deviation), (x - mean) / deviation
        pull = divergence.gradient(policy, target)
        # The logits are -distance^2/2, point is (mean, log deviation).
        slope = np.array([(pull * distance).sum() / deviation, (pull * distance**2).sum()])
        return float(divergence(policy, target)), slope

    found: list[list[float]] = []
    for mean, deviation in starts:
        fit = minimize(
            value_and_slope,
            (mean, np.log(deviation)),
            jac=True,
            bounds=((x[0], x[-1]), (np.log(NARROWEST), np.log(WIDEST))),
            options={"gtol": 1e-10, "ftol": 1e-15},
        )
        line = [float(fit.fun), float(fit.x[0]), float(np.exp(fit.x[1]))]
        if not any(np.allclose(line[1:], other[1:], rtol=0, atol=SAME) for other in found):
            found.append(line)
    return sorted(found)


def compute(config: ForwardReverseFitsConfig, records: Records) -> ForwardReverseFitsNumbers:
    """The best fits, the minima of reverse KL, and along alpha the mass that the fit leaves each mode."""
    x = np.linspace(*config.range, config.points)
    modes = sorted(config.modes, key=lambda mode: mode[1])
    means = [mean for _, mean, _ in modes]
    target = target_on(x, modes)
    # On every mode, and on all of them together.
    starts = np.array([*((mean, deviation) for _, mean, deviation in modes), (target @ x, config.wide)])
    region = np.digitize(x, _valleys(x, target, means))

    def fits(divergence: FDivergence) -> list[ForwardReverseFitsFit]:
        found = []
        for value, mean, deviation in minima(divergence, x, target, starts):
            law = gaussian(x, mean, deviation)
            shares = np.bincount(region, weights=law, minlength=len(modes))
            found.append(
                ForwardReverseFitsFit(value=value, mean=mean, deviation=deviation, shares=shares, law=law)
            )
        return found

    alphas = np.linspace(*config.alphas, config.alpha_points)
    family = (REVERSE_KL, *map(alpha_divergence, alphas), FORWARD_KL)
    shown = {"reverse": REVERSE_KL, "alpha": alpha_divergence(config.alpha), "JS": JENSEN_SHANNON}
    return ForwardReverseFitsNumbers(
        x=x,
        target=target,
        target_shares=np.bincount(region, weights=target),
        fits={name: fits(d)[0] for name, d in {**shown, "forward": FORWARD_KL}.items()},
        reverse_minima=tuple(fits(REVERSE_KL)),
        alphas=np.array([0.0, *alphas, 1.0]),
        shares=np.array([fits(divergence)[0].shares for divergence in family]),
    )


def _valleys(x: np.ndarray, target: np.ndarray, means: Sequence[float]) -> list[float]:
    """Where the target is least between neighbouring modes: the borders of their regions."""
    between = [(x > a) & (x < b) for a, b in pairwise(means)]
    return [float(x[part][target[part].argmin()]) for part in between]


def table(results: ForwardReverseFitsNumbers) -> Table:
    """What the best fits leave to the mode that is kept worst; the other minima of reverse KL."""
    head = ("divergence", "value at the best fit", "least share of a mode's mass kept")
    best = [
        (name, fit.value, float((fit.shares / results.target_shares).min()))
        for name, fit in results.fits.items()
    ]
    others = [
        (f"reverse, minimum {number}", fit.value, float((fit.shares / results.target_shares).min()))
        for number, fit in enumerate(results.reverse_minima[1:], 2)
    ]
    return Table.of(head, [*best, *others])


def draw(config: ForwardReverseFitsConfig, results: ForwardReverseFitsNumbers) -> Drawing:
    """The target with the fits; then the mass on each mode along alpha, JS beside it."""
    drawing, (left, right) = theme.new(ncols=2, width_ratios=(1.25, 1), height=2.6)
    _draw_fits(left, results)
    beside = 1.15
    looks = (("-", theme.BLUE, "o"), ("--", theme.ORANGE, "s"), ("-.", theme.GREEN, "^"))
    names = ("left", "right") if len(results.target_shares) == 2 else ("left", "middle", "right")
    for index, (name, (line, color, marker)) in enumerate(zip(names, looks, strict=False)):
        how = {"linestyle": line, "color": color}
        right.plot(
            results.alphas, results.shares[:, index], marker=marker, markevery=5, label=f"{name} mode", **how
        )
        theme.level(right, results.target_shares[index], **how)
        right.plot(beside, results.fits["JS"].shares[index], marker, color=color)
    ticks = (0, 0.25, 0.5, 0.75, 1, beside)
    right.set_xticks(ticks, ["0\nreverse", "0.25", "0.5", "0.75", "1\nforward", "JS"])
    right.set(xlabel=r"$\alpha$ of the divergence", ylabel="mass of the fit", ylim=(-0.02, 1.05))
    right.set_title("Which modes are kept")
    right.legend(loc="upper right", bbox_to_anchor=(0.93, 1.0))
    return drawing


def _draw_fits(axes: Axes, results: ForwardReverseFitsNumbers) -> None:
    """Densities: the target, the best fit of each divergence, and the other minima of reverse KL."""
    x, step = results.x, results.x[1] - results.x[0]
    axes.fill_between(x, results.target / step, color=theme.GREY, alpha=0.3, linewidth=0, label="target")
    words = {"reverse": "reverse KL", "JS": "JS", "forward": "forward KL"}
    for name, word in words.items():
        look = {**theme.DIVERGENCES[name], "marker": ""}
        axes.plot(x, results.fits[name].law / step, label=word, **look)
    for number, fit in enumerate(results.reverse_minima[1:]):
        label = "reverse KL, others" if number == 0 else None
        axes.plot(x, fit.law / step, ":", color=theme.PURPLE, linewidth=0.8, label=label)
    highest = max(fit.law.max() for fit in results.reverse_minima) / step
    axes.set(xlabel="outcome $y$", ylabel="probability density", title="The best fits")
    axes.set(ylim=(0, 1.35 * highest))
    axes.legend(loc="upper center", ncol=3, handlelength=1.8)


FIGURE = Figure(
    name="forward_reverse_fits",
    title="Too small a family: reverse KL takes one mode, forward KL spreads over all",
    caption=(
        "A normal law is fitted to a target with several modes, which no normal law has, by minimising "
        "different divergences; all laws live on a grid, and each fit is the best of descents from every "
        "mode and from all modes together. Left: the target and the best fit for each divergence; dotted, "
        "other local minima of reverse KL, where a descent can end, too. Right: the mass that the best fit "
        "gives each mode, along the alpha-divergences from reverse KL (alpha 0) to forward KL (alpha 1), and "
        "for Jensen-Shannon (JS); thin lines are the target's own masses."
    ),
    results=ForwardReverseFitsNumbers,
    compute=compute,
    draw=draw,
    table=table,
    config=ForwardReverseFitsConfig(),
    quick=ForwardReverseFitsConfig(points=106, alpha_points=3),
)
