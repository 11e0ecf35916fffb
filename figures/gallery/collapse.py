"""In too small a family reverse KL retains one word; forward KL retains more, and errs.

Bigram models with the same transitions at all positions are fitted to balanced brackets of length 8, which
they cannot represent. Shown are the best fit of the reverse KL to the tilted model p_beta along 1/beta (the
lowest minimum from many starts), the result of gradient ascent from the base (crosses), and the best fit of
the forward KL to the filtered model p_* (dotted: p_* itself). Every value is exact; the table has the
alpha-divergences, coverage, and models with transitions for each position.
"""

from typing import Any

import numpy as np
import pandas as pd

from dph_theory.support.table import Table

from ..frames import Records
from ..style import BLACK, BLUE, GREY, PURPLE, Sheet, level, ticks

NEEDS = ("collapse",)
FAMILY = "homogeneous"  # Drawn family: the same transitions at all positions.
MEASURES = {"effective": "effective words", "coverage": "coverage", "pass_rate": "pass rate"}
DRAWN = {"effective": "exp(entropy) of correct words", "pass_rate": "pass rate"}


def numbers(records: Records) -> dict[str, Any]:
    """Every fit of the reference problem, one row each; the values of p_*; the jumps of the optimum."""
    reference = records.results("collapse")["reference"]
    return {
        "fits": pd.DataFrame(reference["fits"]),
        "target": {"effective": reference["target"]["effective"], "coverage": 1.0, "pass_rate": 1.0},
        # A problem of one's own may have no jump, and then names no columns.
        "jumps": pd.DataFrame(reference["leaps"]).reindex(columns=["family", "jump"]),
    }


def family_fits(numbers: dict[str, Any], family: str) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Lowest minimum and ascent along 1/beta of reverse KL; minima along alpha up to 1 (forward KL)."""
    fits = numbers["fits"]
    fits = fits[fits.family == family]
    reverse = fits[fits.objective == "reverse_kl"].sort_values("inverse_beta")
    best = reverse[reverse.method == "global"]
    covering = fits[fits.objective.isin(["alpha", "forward_kl"])]
    covering = covering.assign(alpha=covering.alpha.fillna(1.0)).sort_values("alpha")
    return best, reverse[reverse.method == "ascent"], covering


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """Two measures along 1/beta of reverse KL, with the results of ascent and the forward KL's fit."""
    best, ascent, covering = family_fits(numbers, FAMILY)
    jumps = numbers["jumps"].query("family == @FAMILY").jump.dropna()
    panels, forward = sheet.panels(2, height=2.3), covering[covering.alpha == 1].iloc[0]
    for axes, (measure, words) in zip(panels, DRAWN.items(), strict=True):
        # A line through a jump would be wrong.
        for _, part in best.groupby(np.searchsorted(jumps, best.inverse_beta)):
            axes.plot(part.inverse_beta, part[measure], color=PURPLE)
        axes.plot(ascent.inverse_beta, ascent[measure], "x", color=BLACK, markersize=5)
        axes.axhline(forward[measure], color=BLUE)
        level(axes, numbers["target"][measure], linestyle=(0, (1, 1)))
        axes.set(xscale="log", xlabel=r"$1/\beta$ of reverse KL", ylabel=words, ylim=(0, None))
        ticks(axes, (0.5, 1, 2, 5, 10, 20))
        target = numbers["target"][measure]
        for height, name, color in (
            (target, "filtered model $p_*$", GREY),
            (forward[measure], "forward KL", BLUE),
        ):
            axes.annotate(name, (0.5, height), (0, 3), textcoords="offset points", color=color, size=8)
    panels[0].text(20, 1.5, "reverse KL", color=PURPLE, ha="right", size=8)
    panels[1].text(0.5, 0.13, "reverse KL (crosses: reached from the base)", color=PURPLE, size=8)


def table(numbers: dict[str, Any]) -> Table:
    """By family and divergence: measures of the last fit; jumps of the optimum, and misses of ascent."""
    rows = []
    for family in numbers["fits"].family.unique():
        best, ascent, covering = family_fits(numbers, family)
        jumps = numbers["jumps"].query("family == @family").jump.dropna()
        missed = ascent.inverse_beta[~ascent.is_global.astype(bool)]
        places = [", ".join(f"{x:.4g}" for x in values) or "none" for values in (jumps, missed)]
        last = f"reverse KL, 1/beta = {best.inverse_beta.iloc[-1]:g}"
        rows.append((family, last, *best[[*MEASURES]].iloc[-1], *places))
        rows += [
            (family, f"alpha = {row.alpha:g}", *(getattr(row, name) for name in MEASURES), None, None)
            for row in covering.itertuples()
        ]
    ends = ("jumps at 1/beta", "ascent misses it at 1/beta")
    return Table.from_rows(("family", "divergence", *MEASURES.values(), *ends), rows)


def claim(numbers: dict[str, Any]) -> bool:
    """At the smallest beta reverse KL has one word; forward KL has more words, coverage and errors."""
    best, _, covering = family_fits(numbers, FAMILY)
    reverse, forward = best.iloc[-1], covering.iloc[-1]
    more = forward.effective > np.e > 1.01 > reverse.effective and forward.coverage > reverse.coverage
    return bool(more and forward.pass_rate < reverse.pass_rate)
