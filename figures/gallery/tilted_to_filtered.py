"""The tilted model approaches the filtered one, but not in reverse KL.

A base model a has five answers, three of them valid (correct). The filtered model p_* is the base restricted
to these, and the tilted model p_beta maximises the pass rate minus beta times the KL from the base. Left: as
beta falls, p_beta moves mass onto the valid answers and retains their proportions. Right: its total variation
and KL(p_* || p_beta) to the filtered model vanish, but KL(p_beta || p_*) is infinite for every beta above 0,
so the filtered model cannot be a reverse-KL target. All values are exact.
"""

from typing import Any

import numpy as np

from dph_theory import FORWARD_KL, REVERSE_KL, TOTAL_VARIATION, filtered, tilted
from dph_theory.support.table import Table

from ..frames import Records
from ..style import BLACK, BLUE, ORANGE, SKY, Sheet, look

BASE, VALID = np.array([0.15, 0.1, 0.05, 0.4, 0.3]), np.array([True, True, True, False, False])
SHOWN, BETAS = (1.0, 0.4, 0.2), np.geomspace(0.06, 3.0, 120)
INFINITE = 30.0  # Drawn height of infinite values, above all finite ones.


def numbers(records: Records) -> dict[str, Any]:
    """p_*, the shown tilted models, and the distances of tilted models to p_* along beta."""
    target, along = filtered(BASE, VALID), tilted(BASE, VALID, BETAS)
    return {
        "filtered": target,
        "tilted": tilted(BASE, VALID, np.array(SHOWN)),
        "TV(p_beta, p_*)": TOTAL_VARIATION(along, target),
        # KL(p_* || p_b) is the forward KL of the policy p_b from the reference p_*.
        "KL(p_* || p_beta)": FORWARD_KL(along, target),
        "KL(p_beta || p_*)": REVERSE_KL(along, target),
    }


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """Left: the policies as bars; right: their distances to the filtered model."""
    left, right = sheet.panels(2, width_ratios=(1.4, 1), height=2.4)
    # Light to dark, so that the order survives in grey.
    series = [(r"base $a$", BASE, "white")]
    for beta, policy, color in zip(SHOWN, numbers["tilted"], ("#C6E3F5", SKY, BLUE), strict=True):
        series.append((rf"$p_\beta$, $\beta = {beta:g}$", policy, color))
    series.append((r"filtered $p_*$", numbers["filtered"], BLACK))
    places, width = np.arange(BASE.size), 0.8 / len(series)
    for index, (name, policy, color) in enumerate(series):
        at = places + (index - (len(series) - 1) / 2) * width
        left.bar(at, policy, width, color=color, edgecolor=BLACK, linewidth=0.4, label=name)
    left.set_xticks(places, ["valid" if v else "invalid" for v in VALID])
    left.set(xlabel="outcome", ylabel="probability", ylim=(0, 1.5 * numbers["filtered"].max()))
    left.set_title("The policies")
    left.legend(loc="upper center", ncol=2 if sheet.narrow else 3)
    looks = {
        "KL(p_beta || p_*)": look("reverse KL", marker=""),
        "KL(p_* || p_beta)": look("forward KL", marker=""),
        "TV(p_beta, p_*)": {"color": ORANGE, "linestyle": "--"},
    }
    for name, style in looks.items():
        words = name.replace("p_beta", r"$p_\beta$").replace("p_*", "$p_*$")
        right.plot(BETAS, np.where(np.isinf(numbers[name]), INFINITE, numbers[name]), label=words, **style)
    right.set(xscale="log", yscale="log", xlabel=r"$\beta$", title="Distances to the filtered model")
    right.set(ylabel=r"distance to $p_*$ (KL in nats)", ylim=(1e-7, 100))
    heights = {1e-6: "$10^{-6}$", 1e-4: "$10^{-4}$", 1e-2: "$10^{-2}$", 1: "$1$", INFINITE: r"$\infty$"}
    right.set_yticks([*heights], [*heights.values()])
    right.minorticks_off()
    right.legend(loc="lower right")


def table(numbers: dict[str, Any]) -> Table:
    """Distances at both ends of beta."""
    names = [name for name in numbers if name[:2] in ("TV", "KL")]
    rows: list[tuple[str | float, ...]] = []
    for end in (0, -1):
        rows.append((f"{BETAS[end]:g}", *(float(numbers[name][end]) for name in names)))
    return Table.from_rows(("beta", *names), rows)


def claim(numbers: dict[str, Any]) -> bool:
    """The forward KL vanishes as beta falls, while the reverse KL is infinite throughout."""
    return bool(numbers["KL(p_* || p_beta)"][0] < 1e-6 and np.isinf(numbers["KL(p_beta || p_*)"]).all())
