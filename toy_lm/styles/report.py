"""The record as tables that a person can read."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from dph_theory.record import checked

from .summary import pass_at

_COLUMNS = {
    "pass@1": "Pass@1",
    "pass@16": "Pass@16",
    "pass@256": "Pass@256",
    "style_entropy": "style entropy",
    "distinct_styles": "styles in 32",
    "excess": "excess KL",
    "retention": "retained",
    "exploration": "newly solved",
}


def tables(record: Mapping[str, Any]) -> list[Table]:
    """The methods on training and held-out prompts, then what was swept.

    Raises ValueError for a record of another kind.
    """
    results = checked(record, "toy.styles")["results"]
    found = [
        _methods(results, "train", "training prompts"),
        _methods(results, "held_out", "held-out prompts"),
    ]
    swept = [run for run in results["runs"] if set(run["groups"]) - {"main"}]
    return [*found, _swept(results, swept)] if swept else found


def _methods(results: Mapping[str, Any], split: str, title: str) -> Table:
    seeds = len(results["bases"])
    table = Table("", *_COLUMNS.values(), title=f"{title}, {seeds} seeds, +- half a 95% interval")
    for label, splits in results["summary"]["methods"].items():
        table.add_row(label, *(_cell(splits[split][name]) for name in _COLUMNS))
    return table


def _cell(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "-"
    half = float(found["high"]) - found["mean"]
    return f"{found['mean']:.3f}" + (f" +- {half:.3f}" if half < float("inf") else "")


def _swept(results: Mapping[str, Any], runs: list[Mapping[str, Any]]) -> Table:
    columns = ("Pass@1", "Pass@16", "style entropy", "excess KL", "guarantee", "pass rate on D_pef")
    table = Table(
        "",
        "place",
        "updates",
        *columns,
        title="strengths, places and lengths on training prompts, first seed",
    )
    first = min(run["seed"] for run in runs)
    for run in sorted(
        runs, key=lambda run: (run["name"], run["place"], run["updates"], run["strength"] or 0)
    ):
        if run["seed"] == first:
            end, curve = run["end"]["train"], run["curve"]
            passed = [pass_at(results, end, k) for k in (1, 16)]
            last = [curve[name][-1] for name in ("guarantee", "rehearsed_pass")]
            numbers = [*passed, end["style_entropy"], end["excess"], *last]
            table.add_row(run["label"], run["place"], str(run["updates"]), *(f"{x:.3f}" for x in numbers))
    return table
