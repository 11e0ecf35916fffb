"""Forward KL alone asks an infinite price for losing a strategy, and a moderate one for making it rare.

A strategy is a set of answers with share s in the reference. Left: the least divergence of a policy that has
lost it, s f(0) + (1-s) f(1/(1-s)). Right: the least divergence of a policy that gives a strategy of share
0.05 the probability x; with k = 256 draws it is all but lost below x = 1/256 (dotted), where forward KL costs
about log(s k) times as much as reverse KL.
"""

from typing import Any

import numpy as np

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence
from dph_theory.divergences import CHI_SQUARED, HELLINGER, TOTAL_VARIATION
from dph_theory.support.table import Table

from ..frames import Records
from ..style import GREY, Sheet, level

DIVERGENCES = {
    "forward KL": FORWARD_KL,
    "reverse KL": REVERSE_KL,
    "JS generator": JENSEN_SHANNON,
    "alpha = 1/2": alpha_divergence(0.5),
    "Hellinger": HELLINGER,
    "Pearson": CHI_SQUARED,
    "total variation": TOTAL_VARIATION,
}
DRAWN = ("forward KL", "reverse KL", "JS generator", "alpha = 1/2")
SHARES, SHARE, DRAWS = (0.01, 0.05, 0.1, 0.25, 0.5), 0.05, 256


def two(mass: np.ndarray) -> np.ndarray:
    """The strategy and the rest."""
    return np.stack([mass, 1 - mass], axis=-1)


def numbers(records: Records) -> dict[str, Any]:
    """By divergence: the cost of losing each share, along shares; and of pressing one share down to x."""
    along, pressed = np.linspace(0.005, 0.5, 100), np.geomspace(1e-6, SHARE, 100)
    rare = np.array([1 / DRAWS])
    return {
        name: {
            "table": divergence(two(np.zeros(len(SHARES))), two(np.array(SHARES))),
            "along": (along, divergence(two(0 * along), two(along))),
            "pressed": (pressed, divergence(two(pressed), two(0 * pressed + SHARE))),
            "rare": float(divergence(two(rare), two(0 * rare + SHARE))[0]),
        }
        for name, divergence in DIVERGENCES.items()
    }


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """The cost of losing a strategy by its share; that of making one rare."""
    left, right = sheet.panels(2)
    for name, line in zip(DRAWN, ("-", "--", "-.", ":"), strict=True):
        share, cost = numbers[name]["along"]
        if np.isfinite(cost).all():
            left.plot(share, cost, line, color=f"C{DRAWN.index(name)}", label=name)
        right.plot(*numbers[name]["pressed"], line, color=f"C{DRAWN.index(name)}", label=name)
    left.set(xlabel="share of the strategy", ylabel="nats to lose it", title="forward KL: infinite")
    right.axvline(1 / DRAWS, color=GREY, linestyle=":")
    right.set(xscale="log", yscale="log", xlabel="its probability", ylabel="nats", ylim=(1e-3, None))
    right.set_title(f"To make a share of {SHARE:g} rare")
    level(left, 0)
    sheet.legend([right], 4)


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
