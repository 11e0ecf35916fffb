"""What the sweep says as a whole: when the direction of the KL matters, and how well the meter warns."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .config import Config
from .sweep import PLACES

Block = dict[str, Any]


def directions(config: Config, blocks: list[Block]) -> list[dict[str, Any]]:
    """Pass@1 and pass@k of every direction at the configured conditioning; a row a place and strength.

    "gap" is the forward KL's pass@k less the reverse KL's, at equal strength eta f''(1); theory B9.
    """
    g = config.conditionings.index(config.conditioning)
    rows = []
    for place in PLACES:
        at_place = {block["divergence"]: block for block in blocks if block["place"] == place}
        chosen = {name: at_place[divergence.name] for name, divergence in config.divergences.items()}
        for column, strength in enumerate(config.strengths):
            values = {
                key: {direction: block[key][g][column] for direction, block in chosen.items()}
                for key in ("pass_at_1", "pass_at_k")
            }
            gap = values["pass_at_k"]["forward KL"] - values["pass_at_k"]["reverse KL"]
            rows.append({"place": place, "strength": strength, **values, "gap": gap})
    return rows


def by_alpha(config: Config, blocks: list[Block], strength: float, place: str) -> dict[float, float]:
    """Pass@k against alpha at one strength and place, from alpha = 0 (reverse KL) to 1 (forward KL)."""
    column, found = config.strengths.index(strength), {}
    ends = {config.divergences["reverse KL"].name: 0.0, config.divergences["forward KL"].name: 1.0}
    for block in blocks:
        alpha = ends.get(block["divergence"], block["alpha"])
        if block["place"] == place and alpha is not None:
            found[alpha] = block["pass_at_k"][block["conditioning"].index(config.conditioning)][column]
    return dict(sorted(found.items()))


def meter(config: Config, blocks: list[Block]) -> list[dict[str, Any]]:
    """The collapse meter as a warning over all trainings of the sweep, a row for each threshold.

    Where coverage fell: how often the meter warned before, and the median lead in steps of the trainings
    where it warned at all. Where it did not fall: how often the meter warned all the same.
    """
    rows = []
    for index, rise in enumerate(config.rises):
        pairs = [pair for block in blocks for pair in _pairs(block, index)]
        fell = [(warned, fallen) for warned, fallen in pairs if fallen is not None]
        leads = [fallen - warned for warned, fallen in fell if warned is not None]
        rows.append(
            {
                "rise": rise,
                "trainings": len(pairs),
                "fell": len(fell),
                "warned_before": sum(lead > 0 for lead in leads),
                "median_lead": float(np.median(leads)) if leads else None,
                "shortest_lead": min(leads, default=None),
                "false_alarms": sum(warned is not None for warned, fallen in pairs if fallen is None),
            }
        )
    return rows


def _pairs(block: Block, rise: int) -> Iterator[tuple[int | None, int | None]]:
    for warned, fallen in zip(block["meter_step"][rise], block["coverage_step"], strict=True):
        yield from zip(warned, fallen, strict=True)
