"""Filtering tokens strays from filtering answers, the further the longer the text.

The filtered model p_* is the base restricted to valid texts; the locally filtered model (local) draws each
token among those that some valid text continues, as grammar-constrained decoding does. Shown are their KL
divergences in nats to the base and to each other, against the length of the text. KL(local || base) is KL(p_*
|| base) plus KL(local || p_*), the avoidable cost of local filtering. Exact for each random base, means over
five; the table also has JSON-like texts.
"""

import pandas as pd

from dph_theory.support.table import Table
from toy_lm.filtering import LENGTHS, distances

from ..frames import Records, tabled
from ..style import BLACK, BLUE, GREY, VERMILLION, Sheet

DRAWN = {"brackets": "balanced brackets", "arithmetic": "arithmetic"}
ALONG, BASES = (8, 12, 16, 20, 24, 28, 32), 5  # Lengths in symbols; number of random bases.
CURVES = {
    "filtering": (r"KL($p_*$ || base)", GREY, ":"),
    "local": ("KL(local || base)", BLACK, "-."),
    "local_to_filtered": (r"KL(local || $p_*$)", VERMILLION, "-"),
    "filtered_to_local": (r"KL($p_*$ || local)", BLUE, "--"),
}


def numbers(records: Records) -> pd.DataFrame:
    """Means over the bases of `dph toy filtering` in nats, by grammar and length."""
    rows = []
    for name in LENGTHS:
        for length in (*ALONG, *({LENGTHS[name]} - set(ALONG))):
            rows.append(distances(name, length, bases=BASES, seed=0))
    return pd.DataFrame(rows).sort_values(["grammar", "length"])


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """One panel per grammar."""
    panels = sheet.panels(len(DRAWN))
    for axes, (name, texts) in zip(panels, DRAWN.items(), strict=True):
        rows = frame[frame.grammar == name]
        for key, (words, color, line) in CURVES.items():
            axes.plot(rows.length, rows[key], line, color=color, label=words)
        axes.set(xlabel=f"length in symbols, {texts}", ylabel="KL in nats", ylim=(0, None))
    sheet.legend([panels[0]], 4)


def table(frame: pd.DataFrame) -> Table:
    """Distances at the lengths of `dph toy filtering`."""
    at = frame[frame.length == frame.grammar.map(LENGTHS)]
    names = ("-log A1 = KL(p_*||a)", "KL(loc||a)", "KL(loc||p_*)", "KL(p_*||loc)")
    return tabled(at, {"grammar": "grammar", "length": "length", **dict(zip(CURVES, names, strict=True))})


def claim(frame: pd.DataFrame) -> bool:
    """The distance to the filtered model grows with the length on every grammar."""
    return all(rows.local_to_filtered.is_monotonic_increasing for _, rows in frame.groupby("grammar"))
