"""How often each objective and optimiser collapses over random bases."""

from collections.abc import Sequence

import numpy as np

from .measure import COLLAPSED, Row
from .optimum import ENOUGH

KEYS = ("family", "objective", "method", "mu", "alpha")
"""What tells one way of fitting from another; None where a key does not apply."""


def rates(fits: Sequence[Row], targets: Sequence[Row]) -> list[Row]:
    """One line a way of fitting: over the bases whose p_* is not one word itself, how many collapsed.

    The means of validity, coverage, excess KL and of the effective number as a share of p_*'s go with it, and
    for the reverse KL how many reached the global minimum; `confirmed` counts those met from ENOUGH starts.
    """
    effective = {line["case"]: line["effective"] for line in targets if line["top_share"] <= COLLAPSED}
    groups: dict[tuple[object, ...], list[Row]] = {}
    for line in fits:
        if line["case"] in effective:
            groups.setdefault(tuple(line.get(key) for key in KEYS), []).append(line)
    return [dict(zip(KEYS, key, strict=True)) | _summary(lines, effective) for key, lines in groups.items()]


def _summary(lines: Sequence[Row], effective: dict[int, float]) -> Row:
    kept = [line["effective"] / effective[line["case"]] for line in lines]
    summary: Row = {
        "bases": len(lines),
        "collapsed": sum(line["collapsed"] for line in lines),
        "effective_kept": float(np.mean(kept)),
    }
    for name in ("validity", "coverage", "excess_kl"):
        summary[name] = float(np.mean([line[name] for line in lines]))
    if all("is_global" in line for line in lines):
        summary["is_global"] = sum(line["is_global"] for line in lines)
    if all("certificate" in line for line in lines):
        summary["confirmed"] = sum(line["certificate"]["agree"] >= ENOUGH for line in lines)
    return summary
