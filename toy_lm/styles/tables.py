"""The record as tables that a person can read."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.table import Table

from dph_theory.intervals import Interval
from dph_theory.meter import LeadTime

from .results import Results, Run, Split, read
from .summary import scores, warnings

_COLUMNS = {
    "pass_at_1": "Pass@1",
    "pass_at_16": "Pass@16",
    "pass_at_256": "Pass@256",
    "style_entropy": "style entropy",
    "distinct_styles": "styles in 32",
    "excess": "excess KL",
    "retention": "retained",
    "exploration": "newly solved",
}


def tables(record: Mapping[str, Any]) -> list[Table]:
    """The methods on training and held-out prompts, the meter, then what was swept.

    Raises ValueError for a record of another kind.
    """
    results = read(record)
    found = [
        _methods(results, "train", "training prompts"),
        _methods(results, "held_out", "held-out prompts"),
    ]
    swept = [run for run in results.runs if set(run.groups) - {"main"}]
    return [*found, _meter(results), *([_swept(results, swept)] if swept else [])]


def _methods(results: Results, split: Split, title: str) -> Table:
    seeds = len(results.bases)
    table = Table("", *_COLUMNS.values(), title=f"{title} (seeds: {seeds}; in brackets 95% intervals)")
    for label, score in scores(results, split).items():
        table.add_row(label, *(_cell(getattr(score, name)) for name in _COLUMNS))
    return table


def _cell(found: Interval | None) -> str:
    if found is None:
        return "-"
    known = f" ({found.low:.3f}, {found.high:.3f})" if np.isfinite(found.low) else ""
    return f"{found.mean:.3f}{known}"


def _meter(results: Results) -> Table:
    """Every run: when Pass@16 fell, and how many updates earlier the excess KL had risen."""
    found = warnings(results)
    columns = [f"lead at {warning.rise:g} nats" for warning in found]
    table = Table("", "seed", "Pass@16 fell at", *columns, title="lead of the collapse meter, in updates")
    for run, *leads in zip(results.of_group("main"), *(warning.leads for warning in found), strict=True):
        fell = leads[0].coverage_step
        table.add_row(run.label, f"{run.seed}", "-" if fell is None else f"{fell}", *map(_lead, leads))
    return table


def _lead(lead: LeadTime) -> str:
    if lead.coverage_step is None:
        return "-" if lead.meter_step is None else "false alarm"
    return "no warning" if lead.lead is None else f"{lead.lead:+d}"


def _swept(results: Results, runs: Sequence[Run]) -> Table:
    columns = ("Pass@1", "Pass@16", "style entropy", "excess KL", "guarantee", "pass rate on D_pef")
    title = "strengths, places and lengths on training prompts, first seed"
    table = Table("", "place", "updates", *columns, "least margin", title=title)
    first = min(run.seed for run in runs)
    for run in sorted(runs, key=lambda run: (run.name, run.place, run.updates, run.strength or 0)):
        if run.seed == first:
            passed = [results.pass_at(run.train, k) for k in (1, 16)]
            numbers = (*passed, run.train.style_entropy, run.train.excess, run.guarantee, run.rehearsed_pass)
            cells = (f"{x:.3f}" for x in (*numbers, run.guarantee_margin))
            table.add_row(run.label, run.place, f"{run.updates}", *cells)
    return table
