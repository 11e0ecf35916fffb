"""Only forward KL costs more and more as a policy makes a strategy rarer.

A strategy is a set of answers with share s in the reference, here 0.05. Shown is the least divergence of a
policy that gives the strategy the probability x. Losing it costs s f(0) + (1-s) f(1/(1-s)), which is infinite
for forward KL alone; with k = 256 draws a strategy is all but lost below x = 1/256 (dotted), where forward KL
costs about log(s k) times as much as reverse KL.
"""

from typing import Any

import numpy as np

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence
from dph_theory.divergences import CHI_SQUARED, HELLINGER, TOTAL_VARIATION
from dph_theory.support.table import Table

from ..frames import Records
from ..style import BLUE, GREEN, GREY, PURPLE, SKY, Sheet, names_at

DIVERGENCES = {
    "forward KL": FORWARD_KL,
    "reverse KL": REVERSE_KL,
    "JS generator": JENSEN_SHANNON,
    "alpha = 1/2": alpha_divergence(0.5),
    "Hellinger": HELLINGER,
    "Pearson": CHI_SQUARED,
    "total variation": TOTAL_VARIATION,
}
DRAWN = {"forward KL": BLUE, "alpha = 1/2": SKY, "reverse KL": PURPLE, "JS generator": GREEN}
SHARES, SHARE, DRAWS = (0.01, 0.05, 0.1, 0.25, 0.5), 0.05, 256


def two(mass: np.ndarray) -> np.ndarray:
    """The strategy and the rest."""
    return np.stack([mass, 1 - mass], axis=-1)


def numbers(records: Records) -> dict[str, Any]:
    """By divergence: the cost of losing each share, and of pressing one share down to x."""
    pressed = np.geomspace(1e-6, SHARE, 100)
    rare = np.array([1 / DRAWS])
    return {
        name: {
            "table": divergence(two(np.zeros(len(SHARES))), two(np.array(SHARES))),
            "pressed": (pressed, divergence(two(pressed), two(0 * pressed + SHARE))),
            "rare": float(divergence(two(rare), two(0 * rare + SHARE))[0]),
        }
        for name, divergence in DIVERGENCES.items()
    }


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """The cost of making a strategy rare, by its probability, which falls to the right."""
    axes = sheet.panels()
    for name, color in DRAWN.items():
        x, cost = numbers[name]["pressed"]
        axes.plot(x, cost, color=color, linewidth=2)
    ends = [(float(numbers[name]["pressed"][1][0]), name, color) for name, color in DRAWN.items()]
    names_at(axes, 6e-7, ends, gap=0.04)
    axes.axvline(1 / DRAWS, color=GREY, linestyle=":")
    axes.text(1 / DRAWS, 0.4, " 1 in 256 samples", color=GREY, size=8)
    axes.set(xscale="log", xlim=(SHARE, 1e-8), ylim=(0, None), ylabel="least divergence, nats")
    axes.set_xlabel(f"probability of a strategy whose share was {SHARE:g}")
    axes.set_xticks([1e-2, 1e-4, 1e-6])
    axes.minorticks_off()


def table(numbers: dict[str, Any]) -> Table:
    """Nats to lose a strategy, by its share."""
    heads = ("divergence", *(f"s = {share:g}" for share in SHARES), f"s = {SHARE:g} to 1/{DRAWS}")
    rows = [(name, *map(float, cell["table"]), cell["rare"]) for name, cell in numbers.items()]
    return Table.from_rows(heads, rows)


def claim(numbers: dict[str, Any]) -> bool:
    """Only forward KL is infinite, and its price of a rare strategy is a few times the reverse KL's."""
    infinite = [name for name, cell in numbers.items() if not np.isfinite(cell["table"]).all()]
    ratio = numbers["forward KL"]["rare"] / numbers["reverse KL"]["rare"]
    return infinite == ["forward KL"] and bool(1 < ratio < np.log(SHARE * DRAWS) + 1)
