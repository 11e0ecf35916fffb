"""Too small a family: reverse KL takes one mode, forward KL spreads over all.

A single normal distribution is fitted to a target with several modes (grey) by minimising a divergence on a
grid; each fit is the best of descents from every mode and from all modes together. Dotted are other local
minima of reverse KL, at which a descent can stop too. The table has Jensen-Shannon (JS) and an
alpha-divergence, and the share of the worst mode's mass that each fit retains.
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
from ..style import BLUE, GREY, PURPLE, Sheet

MODES = ((0.5, -5.0, 0.8), (0.3, 0.0, 0.8), (0.2, 5.0, 0.8))  # Weight, mean and std of the target's modes.
X = np.linspace(-10.0, 11.0, 211)
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
    named = {"reverse KL": REVERSE_KL, "JS": JENSEN_SHANNON, "alpha 0.5": alpha_divergence(0.5)}
    named |= {"forward KL": FORWARD_KL}
    rows = []
    for name, divergence in named.items():
        for place, (value, fit) in enumerate(minima(divergence)):
            rows.append((name, place, value, fit, shares(fit)))
    return pd.DataFrame(rows, columns=["name", "place", "value", "fit", "shares"])


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """Target and fits as densities."""
    axes, step = sheet.panels(height=2.5), X[1] - X[0]
    axes.fill_between(X, TARGET / step, color=GREY, alpha=0.3, linewidth=0)
    reverse = frame[frame.name == "reverse KL"].sort_values("place").fit
    for place, fit in enumerate(reverse):
        style = {"linewidth": 0.8, "linestyle": ":"} if place else {"linewidth": 2.0}
        axes.plot(X, fit / step, color=PURPLE, **style)
    (forward,) = frame.fit[(frame.name == "forward KL") & (frame.place == 0)]
    axes.plot(X, forward / step, color=BLUE, linewidth=2)
    top = max(fit.max() for fit in reverse) / step
    for x, y, words, color in (
        (-5, 1.03, "reverse KL", PURPLE),
        (2.5, 1.03, "its other minima", PURPLE),
        (-0.3, 0.24, "forward KL", BLUE),
        (-7.3, 0.4, "target", GREY),
    ):
        axes.text(x, y * top, words, color=color, ha="center", size=9)
    axes.set(xlabel="outcome $y$", ylabel="probability density", ylim=(0, 1.15 * top))


def table(frame: pd.DataFrame) -> Table:
    """Mass of the fits on the mode that is retained worst."""
    rows = []
    for row in frame.itertuples(index=False):
        if row.name == "reverse KL" or row.place == 0:
            words = row.name if row.place == 0 else f"{row.name}, minimum {row.place + 1}"
            rows.append((words, row.value, float((row.shares / shares(TARGET)).min())))
    return Table.from_rows(("divergence", "value at the fit", "least share of a mode's mass retained"), rows)


def claim(frame: pd.DataFrame) -> bool:
    """The best fit of reverse KL has one mode; the best fit of forward KL at least half of each mode."""
    best = frame[frame.place == 0].set_index("name").shares
    return bool(best["reverse KL"].max() > 0.99 and (best["forward KL"] > 0.5 * shares(TARGET)).all())
