"""What a method learns on trained prompts it pays for in Pass@256 on others.

SmolLM2-135M-Instruct, last digits of products, means over seeds; the base is the star. Lines join the
coefficients of one method, and numbers beside marks are coefficients. Left: trained Pass@1 against held-out
Pass@256. Right: both on held-out prompts.
"""

import pandas as pd

from dph_theory.support.table import Table

from ..frames import Records
from ..style import Sheet, look
from . import pretrained, transfer

NEEDS = ("pretrained",)
KINDS = {
    "GRPO": ("forward KL", "GRPO, none or plain k3"),
    "GRPO, k2": ("reverse KL", "GRPO, k2"),
    "DPH-F": ("DPH-F", "DPH-F"),
    "DPH-JS": ("DPH-JS", "DPH-JS"),
    "KL-DPG": ("KL-DPG", "KL-DPG"),
}
"""The look and the label of each method; a line joins its coefficients."""
SEEDS = 3
"""Settings of fewer seeds are left out."""


def numbers(records: Records) -> pd.DataFrame:
    """A row a method and coefficient, and the base: trained Pass@1, others' Pass@1 and Pass@256."""
    frame = transfer.methods(transfer.numbers(records))
    parts = frame.setting.str.extract(r"^(.*?)(?:, ([\d.]+))?$")
    ends = pretrained.ends(pretrained.numbers(records)).set_index("method")
    strength = parts[1].astype(float).fillna(0.0)
    frame = frame.assign(
        method=parts[0], strength=strength, **{"trained_base 1": ends.loc["base", "trained 1"].item()}
    )
    return frame[frame.method.isin(KINDS) & (frame.seeds >= SEEDS)].sort_values(["method", "strength"])


def draw(sheet: Sheet, frame: pd.DataFrame) -> None:
    """Both planes, the base marked."""
    panels = sheet.panels(2, height=2.6)
    for axes, across in zip(panels, ("trained_found 1", "found 1"), strict=True):
        base = frame.iloc[0]
        at = (base[across.replace("found", "base")], base["base 256"])
        axes.plot(*at, "*", color="black", markersize=9, label="base")
        for method, (kind, words) in KINDS.items():
            rows = frame[frame.method == method]
            hollow = {"markerfacecolor": "white", "linestyle": ":"} if method.startswith("DPH") else {}
            axes.plot(rows[across], rows["found 256"], **look(kind, label=words) | hollow)
            for _, row in rows[rows.method.str.startswith("GRPO")].iterrows():
                text = f"{row.strength:g}" if row.strength else "none"
                axes.annotate(
                    text,
                    (row[across], row["found 256"]),
                    (4, 3 if method == "GRPO" else -9),
                    textcoords="offset points",
                    size=6,
                )
        axes.set(ylabel="Pass@256, held out", ylim=(0.2, 1.04))
    panels[0].set(xlabel="Pass@1, trained prompts")
    panels[1].set(xlabel="Pass@1, held out")
    sheet.legend([panels[0]], 3)


def table(frame: pd.DataFrame) -> Table:
    """The rows behind the marks."""
    columns = ("method", "strength", "seeds", "trained_found 1", "found 1", "found 256")
    rows = [
        tuple(round(x, 3) if isinstance(x, float) else x for x in row) for row in frame[list(columns)].values
    ]
    head = ("method", "coefficient", "seeds", "trained Pass@1", "held-out Pass@1", "held-out Pass@256")
    return Table.from_rows(head, rows)


def claim(frame: pd.DataFrame) -> bool:
    """Along plain k3's and k2's coefficients more trained Pass@1 comes with less held-out Pass@256."""
    kl = frame[frame.method.isin(("GRPO", "GRPO, k2"))]
    return bool(kl["trained_found 1"].corr(kl["found 256"]) < -0.8)
