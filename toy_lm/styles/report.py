"""The record as tables that a person can read."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from dph_theory.support.record import checked

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
    return [*found, _meter(results), *([_swept(results, swept)] if swept else [])]


def _methods(results: Mapping[str, Any], split: str, title: str) -> Table:
    seeds = len(results["bases"])
    table = Table("", *_COLUMNS.values(), title=f"{title} (seeds: {seeds}; +- half a 95% interval)")
    for label, splits in results["summary"]["methods"].items():
        table.add_row(label, *(_cell(splits[split][name]) for name in _COLUMNS))
    return table


def _cell(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "-"
    half = float(found["high"]) - found["mean"]
    return f"{found['mean']:.3f}" + (f" +- {half:.3f}" if half < float("inf") else "")


def _meter(results: Mapping[str, Any]) -> Table:
    """Every run: when Pass@16 fell, and how many updates earlier the excess KL had risen."""
    warnings = results["summary"]["meter"]
    columns = [f"lead at {warning['rise']:g} nats" for warning in warnings]
    table = Table("", "seed", "Pass@16 fell at", *columns, title="lead of the collapse meter, in updates")
    for runs in zip(*(warning["runs"] for warning in warnings), strict=True):
        fell = runs[0]["fell"]
        leads = [_lead(run) for run in runs]
        table.add_row(runs[0]["label"], str(runs[0]["seed"]), "-" if fell is None else str(fell), *leads)
    return table


def _lead(run: Mapping[str, Any]) -> str:
    if run["fell"] is None:
        return "-" if run["warned"] is None else "false alarm"
    return "no warning" if run["warned"] is None else f"{run['lead']:+d}"


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
