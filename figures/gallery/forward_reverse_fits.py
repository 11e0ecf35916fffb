"""Too small a family: reverse KL takes one mode, forward KL spreads over all.

A single normal distribution is fitted to a target with several modes by minimising different divergences on a
grid; each fit is the best of descents from every mode and from all modes together. Left: the target and the
best fit for each divergence; dotted: other local minima of reverse KL, at which a descent can stop too.
Right: the mass that the best fit gives each mode, along the alpha-divergences from reverse KL (alpha 0) to
forward KL (alpha 1), and for Jensen-Shannon (JS); thin lines are the target's masses.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import softmax

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, FDivergence, alpha_divergence
from dph_theory.support.table import Table

from ..frames import Records
from ..style import BLUE, GREEN, GREY, ORANGE, PURPLE, Sheet, level, look

MODES = ((0.5, -5.0, 0.8), (0.3, 0.0, 0.8), (0.2, 5.0, 0.8))  # Weight, mean and std of the target's modes.
X = np.linspace(-10.0, 11.0, 211)
ALPHAS = np.linspace(0.05, 0.95, 19)
SAME, DEVIATIONS, WIDE = 1e-3, (0.6, 8.0), 4.0
"""Optima that agree to SAME are one; the narrowest std leaves every mass positive in float64."""


def gaussian(mean: Any, deviation: Any) -> np.ndarray:
    """Normal distributions on the grid, (..., outcomes)."""
    at, width = np.asarray(mean)[..., None], np.asarray(deviation)[..., None]
    return np.asarray(softmax(-0.5 * ((X - at) / width) ** 2, axis=-1))


TARGET = np.array(MODES)[:, 0] @ gaussian(*np.array(MODES).T[1:])


def minima(divergence: FDivergence) -> list[tuple[float, np.ndarray]]:
    """Local minima (value, weights) reached from every mode and from all of them together, best first."""

    def value_and_slope(point: np.ndarray) -> tuple[float, np.ndarray]:
        mean, deviation = point[0], np.exp(point[1])
        policy, distance = gaussian(mean, deviation), (X - mean) / deviation
        by_logit = divergence.gradient(policy, TARGET)
        # The logits are -distance^2/2, point is (mean, log deviation).
        slope = np.array([(by_logit * distance).sum() / deviation, (by_logit * distance**2).sum()])
        return float(divergence(policy, TARGET)), slope

    fits: list[tuple[float, np.ndarray]] = []
    for mean, deviation in (*(mode[1:] for mode in MODES), (TARGET @ X, WIDE)):
        bounds, options = ((X[0], X[-1]), tuple(np.log(DEVIATIONS))), {"gtol": 1e-10, "ftol": 1e-15}
        fit = minimize(value_and_slope, (mean, np.log(deviation)), jac=True, bounds=bounds, options=options)
        if not any(np.allclose(fit.x, other, rtol=0, atol=SAME) for _, other in fits):
            fits.append((float(fit.fun), fit.x))
    return [(value, gaussian(x[0], np.exp(x[1]))) for value, x in sorted(fits, key=lambda pair: pair[0])]


def shares(distribution: np.ndarray) -> np.ndarray:
    """Mass of each mode's region; regions meet at the target's minima between neighbours."""
    between = [(a < X) & (b > X) for a, b in pairwise(mode[1] for mode in MODES)]
    valleys = [X[part][TARGET[part].argmin()] for part in between]
    return np.bincount(np.digitize(X, valleys), weights=distribution, minlength=len(MODES))


def numbers(records: Records) -> pd.DataFrame:
    """One row per minimum: divergence, rank, value, weights and the mass on each mode."""
    named = [("reverse KL", 0.0, REVERSE_KL), ("JS", None, JENSEN_SHANNON), ("forward KL", 1.0, FORWARD_KL)]
    named += [(f"alpha {alpha:.3g}", alpha, alpha_divergence(alpha)) for alpha in ALPHAS]
    rows = []
    for name, alpha, divergence in named:
        for place, (value, fit) in enumerate(minima(divergence)):
            rows.append((name, place, value, fit, alpha, shares(fit)))
    return pd.DataFrame(rows, columns=["name", "place", "value", "fit", "alpha", "shares"])


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """Target and fits; beside them the mass on each mode along alpha, and for JS."""
    left, right = sheet.panels(2, width_ratios=(1.25, 1), height=2.6)
    step, best = X[1] - X[0], frame[frame.place == 0].set_index("name")
    left.fill_between(X, TARGET / step, color=GREY, alpha=0.3, linewidth=0, label="target")
    for name in ("reverse KL", "JS", "forward KL"):
        left.plot(X, best.fit[name] / step, label=name, **look(name, marker=""))
    reverse = frame.fit[frame.name == "reverse KL"]
    for number, fit in enumerate(reverse.iloc[1:]):
        label = None if number else "reverse KL, others"
        left.plot(X, fit / step, ":", color=PURPLE, linewidth=0.8, label=label)
    highest = max(fit.max() for fit in reverse) / step
    left.set(xlabel="outcome $y$", ylabel="probability density", ylim=(0, 1.4 * highest))
    left.set_title("The best fits")
    left.legend(loc="upper center", ncol=2 if sheet.narrow else 3, handlelength=1.8)
    along, js_place = best[best.alpha.notna()].sort_values("alpha"), 1.15
    looks = {"left": ("-", BLUE, "o"), "middle": ("--", ORANGE, "s"), "right": ("-.", GREEN, "^")}
    for index, (name, (line, color, marker)) in enumerate(looks.items()):
        style = {"linestyle": line, "color": color}
        values = np.stack(along.shares)[:, index]
        right.plot(along.alpha, values, marker=marker, markevery=5, label=f"{name} mode", **style)
        level(right, shares(TARGET)[index], **style)
        right.plot(js_place, best.shares["JS"][index], marker, color=color)
    right.set_xticks((0, 0.25, 0.5, 0.75, 1, js_place), ["0\nreverse", "", "0.5", "", "1\nforward", "JS"])
    right.set(xlabel=r"$\alpha$ of the divergence", ylabel="mass of the fit", ylim=(-0.02, 1.05))
    right.set_title("Which modes are retained")
    right.legend(loc="upper right", bbox_to_anchor=(0.93, 1.0))


def table(frame: pd.DataFrame) -> Table:
    """Mass of the fits on the mode that is retained worst."""
    rows = []
    for row in frame.itertuples(index=False):
        if row.name == "reverse KL" or (row.place == 0 and row.name in ("JS", "alpha 0.5", "forward KL")):
            words = row.name if row.place == 0 else f"{row.name}, minimum {row.place + 1}"
            rows.append((words, row.value, float((row.shares / shares(TARGET)).min())))
    return Table.from_rows(("divergence", "value at the fit", "least share of a mode's mass retained"), rows)


def claim(frame: pd.DataFrame) -> bool:
    """The best fit of reverse KL has one mode; the best fit of forward KL at least half of each mode."""
    best = frame[frame.place == 0].set_index("name").shares
    return bool(best["reverse KL"].max() > 0.99 and (best["forward KL"] > 0.5 * shares(TARGET)).all())
