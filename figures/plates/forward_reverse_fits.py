"""Where a family that cannot hold a target's modes goes, by divergence (li2025choice, Fig. 1)."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Drawing
from scipy.optimize import minimize

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, FDivergence, alpha_divergence

from ..figure import Figure
from ..look import theme
from ..results.experiments import Record

SAME = 1e-3
"""Optima whose mean and deviation both agree to this are one."""
NARROWEST, WIDEST = 0.6, 8.0
"""Deviations of the family; the narrowest keeps every mass of these grids a positive float64."""


def gaussian(x: np.ndarray, mean: Any, deviation: Any) -> np.ndarray:
    """A normal law on a grid; means and deviations (...) give (..., outcomes)."""
    mean, deviation = np.asarray(mean)[..., None], np.asarray(deviation)[..., None]
    logits = -0.5 * ((x - mean) / deviation) ** 2
    weight = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True)


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


def compute(config: Mapping[str, Any], records: Mapping[str, Record]) -> dict[str, Any]:
    """The best fits, the minima of reverse KL, and along alpha the mass that the fit leaves each mode."""
    (left, right), (low, high) = config["range"], config["alphas"]
    x = np.linspace(left, right, config["points"])
    modes = sorted(config["modes"], key=lambda mode: mode[1])
    target = target_on(x, modes)
    # On every mode, and on all of them together.
    starts = np.array([*((mean, deviation) for _, mean, deviation in modes), (target @ x, config["wide"])])
    region = np.digitize(x, _valleys(x, target, [mean for _, mean, _ in modes]))

    def fit(divergence: FDivergence) -> dict[str, Any]:
        value, mean, deviation = minima(divergence, x, target, starts)[0]
        law = gaussian(x, mean, deviation)
        shares = np.bincount(region, weights=law, minlength=len(modes)).tolist()
        return {"value": value, "mean": mean, "deviation": deviation, "shares": shares, "law": law.tolist()}

    alphas = np.linspace(low, high, config["alpha_points"])
    family = (REVERSE_KL, *map(alpha_divergence, alphas), FORWARD_KL)
    along = [fit(divergence) for divergence in family]
    shown = {"reverse": REVERSE_KL, "alpha": alpha_divergence(config["alpha"]), "JS": JENSEN_SHANNON}
    return {
        "x": x.tolist(),
        "target": target.tolist(),
        "target_shares": np.bincount(region, weights=target).tolist(),
        "fits": {name: fit(d) for name, d in {**shown, "forward": FORWARD_KL}.items()},
        "reverse_minima": [
            {
                "value": value,
                "mean": mean,
                "deviation": deviation,
                "law": gaussian(x, mean, deviation).tolist(),
            }
            for value, mean, deviation in minima(REVERSE_KL, x, target, starts)
        ],
        "alphas": [0.0, *alphas.tolist(), 1.0],
        "along_alpha": [{key: line[key] for key in ("value", "deviation", "shares")} for line in along],
    }


def _valleys(x: np.ndarray, target: np.ndarray, means: Sequence[float]) -> list[float]:
    """Where the target is least between neighbouring modes: the borders of their regions."""
    between = [(x > a) & (x < b) for a, b in pairwise(means)]
    return [float(x[part][target[part].argmin()]) for part in between]


def findings(results: Mapping[str, Any]) -> list[str]:
    """Which modes are kept by which divergence, and how many places ascent in reverse KL can end."""
    kept = results["target_shares"]
    words = ", ".join(
        f"{min(np.divide(fit['shares'], kept)):.2g} ({name})" for name, fit in results["fits"].items()
    )
    shares = np.array([line["shares"] for line in results["along_alpha"]])
    moved = np.abs(np.diff(shares, axis=0)).max(axis=1)
    low, high = results["alphas"][moved.argmax() :][:2]
    values = ", ".join(f"{line['value']:.3g}" for line in results["reverse_minima"])
    return [
        f"Of its mass, the mode that is kept worst retains this share: {words}.",
        f"Along alpha the fit changes most between {low:.2g} and {high:.2g}, where a mode's mass moves by "
        f"{moved.max():.2g}.",
        f"The local minima of reverse KL have the values {values}.",
    ]


def draw(record: Mapping[str, Any]) -> Drawing:
    """The target with the fits; then the mass on each mode along alpha, JS beside it."""
    results = record["results"]
    drawing, (left, right) = theme.new(ncols=2, width_ratios=(1.25, 1), height=2.6)
    x, alpha = results["x"], record["config"]["alpha"]
    step = x[1] - x[0]
    density = np.array(results["target"]) / step
    left.fill_between(x, density, color=theme.GREY, alpha=0.3, linewidth=0, label="target")
    words = {"reverse": "reverse KL", "alpha": rf"$\alpha = {alpha:g}$", "JS": "JS", "forward": "forward KL"}
    for name, word in words.items():
        look = {**theme.DIVERGENCES[name], "marker": ""}
        left.plot(x, np.array(results["fits"][name]["law"]) / step, label=word, **look)
    for number, line in enumerate(results["reverse_minima"][1:]):
        label = "reverse KL, other minima" if number == 0 else None
        left.plot(x, np.array(line["law"]) / step, ":", color=theme.PURPLE, linewidth=0.8, label=label)
    highest = max(max(line["law"]) for line in results["reverse_minima"]) / step
    left.set(xlabel="outcome $y$", ylabel="probability density", title="The best fits")
    left.set(ylim=(0, 1.35 * highest))
    left.legend(loc="upper center", ncol=3)
    shares = np.array([line["shares"] for line in results["along_alpha"]])
    beside = 1.15
    for index, (name, line) in enumerate(zip(_names(shares.shape[1]), ("-", "--", "-."), strict=False)):
        color = (theme.BLUE, theme.ORANGE, theme.GREEN)[index]
        (curve,) = right.plot(results["alphas"], shares[:, index], line, color=color, label=f"{name} mode")
        right.axhline(results["target_shares"][index], linestyle=":", linewidth=0.8, color=curve.get_color())
        right.plot(beside, results["fits"]["JS"]["shares"][index], "^", color=curve.get_color())
    ticks = (0, 0.25, 0.5, 0.75, 1, beside)
    right.set_xticks(ticks, ["0\nreverse", "0.25", "0.5", "0.75", "1\nforward", "JS"])
    right.set(xlabel=r"$\alpha$ of the divergence", ylabel="mass of the fit", ylim=(-0.02, 1.05))
    right.set_title("Which modes are kept")
    right.legend(loc="upper right", bbox_to_anchor=(0.93, 1.0))
    return drawing


def _names(count: int) -> tuple[str, ...]:
    return ("left", "right") if count == 2 else ("left", "middle", "right")


FIGURE = Figure(
    name="forward_reverse_fits",
    title="Where each divergence puts a family that cannot hold the target",
    caption=(
        "A normal law is fitted to a target with several modes by minimising different divergences; no "
        "normal law has several modes. Left: the target and the best fit for each divergence; dotted, other "
        "local minima of reverse KL, where a descent can end, too. Reverse KL takes one mode, forward KL "
        "covers all. Right: the mass that the best fit gives each mode, along the alpha-divergences from "
        "reverse KL (alpha 0) to forward KL (alpha 1), and for Jensen-Shannon (JS, triangles); dotted lines "
        "are the target's own masses. All laws live on a grid; each fit is the best of descents from every "
        "mode and from all modes together."
    ),
    compute=compute,
    draw=draw,
    findings=findings,
    config={
        "modes": ((0.5, -5.0, 0.8), (0.3, 0.0, 0.8), (0.2, 5.0, 0.8)),
        "range": (-10.0, 11.0),
        "points": 211,
        "wide": 4.0,
        "alpha": 0.5,
        "alphas": (0.05, 0.95),
        "alpha_points": 19,
    },
    quick={"points": 106, "alpha_points": 3},
)
