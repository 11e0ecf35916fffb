"""The record as tables a person can read."""

from typing import Any

from rich.table import Table

from dph_theory.support.record import checked

from .experiment import KIND


def tables(record: dict[str, Any]) -> list[Table]:
    """The methods, the places and directions of the penalty, the targets, the meter.

    Raises ValueError for what is no record of this experiment.
    """
    record = checked(record, KIND)
    config, results = record["config"], record["results"]
    return [
        _methods(config, results),
        _directions(config, results["directions"]),
        _targets(config, results["targets"]),
        _meter(config, results["meter"]),
    ]


def _methods(config: dict[str, Any], results: dict[str, Any]) -> Table:
    k = config["coverage_draws"]
    headers = ("eta", "Pass@1", f"Pass@{k}", "excess KL", "guarantee on E", "entropy on E")
    table = Table("method", *headers, title=f"Methods at g = {config['conditioning']:g}", pad_edge=False)
    for row in ({"name": "base", "eta": 0.0, **results["base"]}, *results["methods"]):
        cells = (row[key] for key in ("pass_at_1", "pass_at_k", "excess_kl", "guarantee", "easy_entropy"))
        table.add_row(row["name"], f"{row['eta']:g}", *(f"{cell:.3f}" for cell in cells))
    return table


def _directions(config: dict[str, Any], rows: list[dict[str, Any]]) -> Table:
    k = config["coverage_draws"]
    names = list(rows[0]["pass_at_k"])
    title = f"Pass@1 / Pass@{k} by place, strength and direction of the penalty"
    table = Table("place", "eta f''(1)", *names, f"gap in Pass@{k}", title=title, pad_edge=False)
    for row in rows:
        cells = (f"{row['pass_at_1'][name]:.3f} / {row['pass_at_k'][name]:.3f}" for name in names)
        table.add_row(row["place"], f"{row['strength']:g}", *cells, f"{row['gap']:+.4f}")
    return table


def _targets(config: dict[str, Any], found: dict[str, Any]) -> Table:
    reached = [f"reached, g = {g:g}" for g in config["conditionings"]]
    headers = ("target", "beta", "unrestricted", "best of family", *reached)
    table = Table(*headers, title="KL control: mean validity predicted and reached", pad_edge=False)
    columns = (found["beta"], found["unrestricted"], found["best_of_family"], *found["reached"])
    for target, *cells in zip(found["target"], *columns, strict=True):
        table.add_row(f"{target:g}", *(f"{cell:.4f}" for cell in cells))
    return table


def _meter(config: dict[str, Any], rows: list[dict[str, Any]]) -> Table:
    headers = ("rise in nats", "fell", "warned before", "median lead", "shortest lead", "false alarms")
    title = f"The collapse meter before Pass@{config['coverage_draws']} falls by {config['fall']:g}"
    table = Table(*headers, title=title, pad_edge=False)
    for row in rows:
        shown = (row[key] for key in ("median_lead", "shortest_lead"))
        leads = ("-" if lead is None else f"{lead:g}" for lead in shown)
        others = row["trainings"] - row["fell"]
        counts = (f"{row['fell']} of {row['trainings']}", f"{row['warned_before']} of {row['fell']}")
        table.add_row(f"{row['rise']:g}", *counts, *leads, f"{row['false_alarms']} of {others}")
    return table
