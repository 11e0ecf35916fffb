"""Methods pay for learning on trained prompts with Pass@256 on others.

SmolLM2-135M-Instruct, last digits of products, means over seeds; the base is the star. Lines join the
coefficients of one method, and numbers beside marks are coefficients. Left: trained Pass@1 against held-out
Pass@256. Right: both on held-out prompts.
"""

import pandas as pd

from dph_theory.support.table import Table

from ..frames import Records, tabled
from ..style import Sheet, look
from . import pretrained, transfer

NEEDS = ("pretrained",)
LINES = {
    "GRPO, none or plain k3": ("GRPO", ("none", "k3"), "forward KL"),
    "GRPO, k2": ("GRPO", ("k2",), "reverse KL"),
    "DPH-F": ("DPH-F", ("none",), "DPH-F"),
    "DPH-JS": ("DPH-JS", ("none",), "DPH-JS"),
    "KL-DPG": ("KL-DPG", ("none",), "KL-DPG"),
}
"""For each label the method, the forms of its KL, and the look; a line joins the coefficients."""
SEEDS = 3  # Settings with fewer seeds are not shown.


def numbers(records: Records) -> pd.DataFrame:
    """One row per method and coefficient, and the base: trained Pass@1, held-out Pass@1 and Pass@256."""
    frame = transfer.methods(transfer.numbers(records))
    ends = pretrained.ends(pretrained.numbers(records)).set_index("method")
    frame = frame.assign(**{"trained_base 1": ends.loc["base", "trained 1"].item()})
    lines = []
    for label, (method, kls, _) in LINES.items():
        own = frame[(frame.method == method) & frame.kl.isin(kls) & (frame.seeds >= SEEDS)]
        lines.append(own.sort_values("coefficient").assign(line=label))
    return pd.concat(lines)


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """Both planes, with the base marked."""
    panels = sheet.panels(2, height=2.6)
    for axes, across in zip(panels, ("trained_measured 1", "measured 1"), strict=True):
        base = frame.iloc[0]
        at = (base[across.replace("measured", "base")], base["base 256"])
        axes.plot(*at, "*", color="black", markersize=9, label="base")
        for words, (method, _, kind) in LINES.items():
            rows = frame[frame.line == words]
            marked = {"marker": "D", "linestyle": ":"} if method == "DPH-F" else {}
            axes.plot(rows[across], rows["measured 256"], **look(kind, label=words) | marked)
            for _, row in rows[rows.method == "GRPO"].iterrows():
                text, mark = (
                    f"{row.coefficient:g}" if row.coefficient else "none",
                    row[[across, "measured 256"]],
                )
                place = (4, -9 if row.kl == "k2" else 3)
                axes.annotate(text, mark, place, textcoords="offset points", size=6)
        axes.set(ylabel="Pass@256, held out", ylim=(0.2, 1.04))
    panels[0].set(xlabel="Pass@1, trained prompts")
    panels[1].set(xlabel="Pass@1, held out")
    sheet.legend([panels[0]], 3)


def table(frame: pd.DataFrame) -> Table:
    """Rows behind the marks."""
    names = {"line": "method", "coefficient": "coefficient", "seeds": "seeds"}
    names |= {"trained_measured 1": "trained Pass@1", "measured 1": "held-out Pass@1"}
    rounded = frame.astype(object).map(lambda cell: round(cell, 3) if isinstance(cell, float) else cell)
    return tabled(rounded, names | {"measured 256": "held-out Pass@256"})


def claim(frame: pd.DataFrame) -> bool:
    """Along the coefficients of k3 and k2, more trained Pass@1 comes with less held-out Pass@256."""
    kl = frame[frame.method == "GRPO"]
    return bool(kl["trained_measured 1"].corr(kl["measured 256"]) < -0.8)
