"""The page "Which repair keeps what?": the atlas by what a reader wants to keep, and its trainings."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from dph_theory.atlas import problems
from dph_theory.atlas.rows import REFERENCE
from dph_theory.atlas.table import Row
from dph_theory.atlas.training import GROUPS, ROUNDS
from dph_theory.methods.batches import GROUP
from dph_theory.support.table import Table

from ..records import Atlas, AtlasEnd, Records
from .page import templates

NEAR_TWIN = 0.05
"""Total variation within which a run ended where it was foreseen."""
ONE_LEFT = 0.9
"""A run has one answer left whose share is at least that."""
EVEN = (problems.UNIFORM, problems.LEVEL, problems.PER_TOKEN)
NUMBERS = ("drift", "rare", "long", "wrong")


def repairs(stored: Records) -> str:
    """The page as Markdown."""
    return templates().get_template("which-repair.md").render(_atlas(stored))


def _table(rows: Sequence[Row], numbers: Sequence[str] = NUMBERS) -> str:
    """Some rows of the atlas, in their order, with some of their numbers."""
    cells = [
        (row.method, row.selects, row.way_back, *(_short(getattr(row, name)) for name in numbers))
        for row in rows
    ]
    return Table.of(("method", "selects", "way back", *numbers), cells).markdown()


def _short(value: float | None) -> str | None:
    return None if value is None else "0" if abs(value) < 1e-3 else f"{value:.2g}"


def _atlas(stored: Records) -> dict[str, Any]:
    """The rows of the atlas by what a reader wants to keep, and its trainings."""
    atlas = stored.atlas
    rows, config = atlas.rows, stored.of("atlas")["config"]
    between = (problems.LOCAL, problems.FORWARD, problems.MEANS)
    one = [row for row in rows if row.selects == problems.ONE]
    clips = [row for row in one if row.note.startswith("four updates")]
    goals = {
        "proportions": [row for row in rows if row.selects == problems.FILTERED],
        "between": [row for row in rows if row.selects in between],
        "even": [row for row in rows if row.selects in EVEN],
        "clock": sorted((row for row in one if row not in clips), key=lambda row: row.drift or 0.0),
        "back": [row for row in rows if row.way_back.split(",")[0] in ("quick", "between")],
        "wrong": [row for row in rows if (row.wrong or 0.0) > 0.01],
    }
    return {
        "read": Table.of(("method", "source", "read", "what it does"), _what_was_read(rows)).markdown(),
        "goals": goals,
        "table": _table,
        "clips": [row.method for row in clips],
        "local": problems.LOCAL,
        "forward": problems.FORWARD,
        "near": problems.NEAR,
        "reference": REFERENCE,
        "rounds": ROUNDS,
        "answers": GROUPS * GROUP,
        "trained": _trainings(atlas, config) if atlas.trained else None,
    }


def _what_was_read(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    return [(row.method, row.source, row.read, row.note) for row in rows]


@dataclass(frozen=True)
class TrainedRow:
    """A method's trainings, means over seeds: pass rate, the short answer's share, gaps to the forecast."""

    method: str
    predicted: AtlasEnd
    validity: float
    short: float
    gap: float
    base_gap: float


def _trainings(atlas: Atlas, config: Any) -> dict[str, Any]:
    rows = [
        TrainedRow(
            each.method,
            each.predicted,
            fmean(run.validity for run in each.runs),
            fmean(run.shares[-1] for run in each.runs),
            fmean(each.gaps),
            _apart(atlas.base.shares, each.predicted.shares),
        )
        for each in atlas.trained
    ]
    alone = {
        each.method: sum(max(run.shares) >= ONE_LEFT for run in each.runs)
        for each in atlas.trained
        if max(each.predicted.shares) < ONE_LEFT
    }
    lost = {method: count for method, count in alone.items() if count}
    others = [row.gap for row in rows if row.method not in lost]
    return {
        "rows": rows,
        "methods": len(rows),
        "near": sum(gap <= NEAR_TWIN for gap in others),
        "others": len(others),
        "most": max(others),
        "lost": [f"{method} ({count})" for method, count in lost.items()],
        "one": ONE_LEFT,
        "bar": NEAR_TWIN,
        "knob": config["knob"],
        "steps": config["steps"],
        "answers": config["groups"] * GROUP,
        "seeds": min(len(each.runs) for each in atlas.trained),
    }


def _apart(one: Sequence[float], other: Sequence[float]) -> float:
    """The total variation between two laws."""
    return sum(abs(x - y) for x, y in zip(one, other, strict=True)) / 2
