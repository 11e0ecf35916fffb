"""Filtering tokens strays from filtering answers, the further the longer the text.

KL in nats of the filtered model p_* (the base restricted to valid texts) and of the locally filtered model
(local: each token drawn among those that some valid text continues, as grammar-constrained decoding does) to
the base and to each other, against the length of the text. KL(local || base) is KL(p_* || base) plus
KL(local || p_*), which is what local filtering costs beyond the least. Exact for each random base, means over
five; the table has JSON-like texts too.
"""

import pandas as pd

from dph_theory.support.table import Table
from toy_lm.filtering import LENGTHS, distances

from ..frames import Records, tabled
from ..style import BLACK, BLUE, GREY, VERMILLION, Sheet

DRAWN = {"brackets": "balanced brackets", "arithmetic": "arithmetic"}
"""The table has JSON-like texts too."""
ALONG, BASES = (8, 12, 16, 20, 24, 28, 32), 5
"""The texts' lengths in symbols, and how many random bases the means are over."""
CURVES = {
    "filtering": (r"KL($p_*$ || base)", GREY, ":"),
    "local": ("KL(local || base)", BLACK, "-."),
    "local_to_filtered": (r"KL(local || $p_*$)", VERMILLION, "-"),
    "filtered_to_local": (r"KL($p_*$ || local)", BLUE, "--"),
}


def numbers(records: Records) -> pd.DataFrame:
    """By grammar and length, means over the bases of `dph toy filtering`, in nats."""
    rows = []
    for name in LENGTHS:
        for length in (*ALONG, *({LENGTHS[name]} - set(ALONG))):
            rows.append(distances(name, length, bases=BASES, seed=0))
    return pd.DataFrame(rows).sort_values(["grammar", "length"])


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """A panel a grammar."""
    panels = sheet.panels(len(DRAWN))
    for axes, (name, texts) in zip(panels, DRAWN.items(), strict=True):
        rows = frame[frame.grammar == name]
        for key, (words, color, line) in CURVES.items():
            axes.plot(rows.length, rows[key], line, color=color, label=words)
        axes.set(xlabel=f"length in symbols, {texts}", ylabel="KL in nats", ylim=(0, None))
    sheet.legend([panels[0]], 4)


def table(frame: pd.DataFrame) -> Table:
    """The distances at the lengths of `dph toy filtering`."""
    at = frame[frame.length == frame.grammar.map(LENGTHS)]
    names = ("-log A1 = KL(p_*||a)", "KL(loc||a)", "KL(loc||p_*)", "KL(p_*||loc)")
    return tabled(at, {"grammar": "grammar", "length": "length", **dict(zip(CURVES, names, strict=True))})


def claim(frame: pd.DataFrame) -> bool:
    """The distance to the filtered model grows with the length on every grammar."""
    return all(rows.local_to_filtered.is_monotonic_increasing for _, rows in frame.groupby("grammar"))
