"""The record as tables a person can read."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.table import Table

from dph_theory.meter import Warnings

from .config import Config
from .results import Results, Targets, read
from .summary import Direction, directions, meter


def tables(record: dict[str, Any]) -> list[Table]:
    """The methods, training without an anchor, places and directions, targets, the meter, random tasks.

    Raises ValueError for what is no record of this experiment.
    """
    config, results = read(record)
    return [
        _methods(config, results),
        _without_anchor(config, results),
        _directions(config, directions(config, results.sweep)),
        _targets(config, results.targets),
        _meter(config, meter(config, results.sweep)),
        _random_tasks(config, results),
    ]


def _methods(config: Config, results: Results) -> Table:
    k = config.coverage_draws
    headers = (
        "eta",
        "Pass@1",
        f"Pass@{k}",
        "excess KL",
        "guarantee on E",
        "its least margin",
        "entropy on E",
    )
    table = Table("method", *headers, title=f"Methods at g = {config.conditioning:g}", pad_edge=False)
    first = ("base", "0", 0.0, results.base)
    rows = [(row.name, f"{row.eta:g}", row.guarantee_margin, row) for row in results.methods]
    for name, eta, margin, row in (first, *rows):
        cells = (row.pass_at_1, row.pass_at_k, row.excess_kl, row.guarantee, margin, row.easy_entropy)
        table.add_row(name, eta, *(f"{cell:.3f}" for cell in cells))
    return table


def _without_anchor(config: Config, results: Results) -> Table:
    k, free = config.coverage_draws, results.sweep[0]
    title = "GRPO by conditioning g: 0 for strategies that all types share, large for each type's own"
    table = Table("g", "Pass@1", f"Pass@{k}", title=title, pad_edge=False)
    for g, (one,), (many,) in zip(free.conditioning, free.pass_at_1, free.pass_at_k, strict=True):
        table.add_row(f"{g:g}", f"{one:.3f}", f"{many:.3f}")
    return table


def _directions(config: Config, rows: Sequence[Direction]) -> Table:
    k = config.coverage_draws
    names = list(rows[0].pass_at_k)
    title = f"Pass@1 / Pass@{k} by place, strength and direction of the penalty"
    table = Table("place", "eta f''(1)", *names, f"gap in Pass@{k}", title=title, pad_edge=False)
    for row in rows:
        cells = (f"{row.pass_at_1[name]:.3f} / {row.pass_at_k[name]:.3f}" for name in names)
        table.add_row(row.place, f"{row.strength:g}", *cells, f"{row.gap:+.4f}")
    return table


def _targets(config: Config, found: Targets) -> Table:
    reached = [f"reached, g = {g:g}" for g in config.conditionings]
    headers = ("target", "beta", "unrestricted", "best of family", *reached)
    table = Table(*headers, title="KL control: mean validity predicted and reached", pad_edge=False)
    columns = (found.beta, found.unrestricted, found.best_of_family, *found.reached)
    for target, *cells in zip(found.target, *columns, strict=True):
        table.add_row(f"{target:g}", *(f"{cell:.4f}" for cell in cells))
    return table


def _meter(config: Config, rows: Sequence[Warnings]) -> Table:
    headers = ("rise in nats", "fell", "warned before", "median lead", "shortest lead", "false alarms")
    title = f"The collapse meter before Pass@{config.coverage_draws} falls by {config.fall:g}"
    table = Table(*headers, title=title, pad_edge=False)
    for row in rows:
        all_, fell, ahead = len(row.leads), len(row.fallen), row.steps_ahead
        leads = (f"{np.median(ahead):g}", f"{min(ahead):g}") if ahead else ("-", "-")
        counts = (f"{fell} of {all_}", f"{row.warned_before} of {fell}")
        table.add_row(f"{row.rise:g}", *counts, *leads, f"{row.false_alarms} of {all_ - fell}")
    return table


def _random_tasks(config: Config, results: Results) -> Table:
    k = config.coverage_draws
    title = f"{config.random_tasks} random tasks: mean changes with 95% intervals"
    headers = ("Pass@1", f"Pass@{k}", f"Pass@1 up and Pass@{k} down")
    table = Table("method", *headers, title=title, pad_edge=False)
    for row in results.random_tasks:
        changes = (row.pass_at_1_change, row.pass_at_k_change)
        cells = ("{:+.3f} ({:+.3f} to {:+.3f})".format(*change) for change in changes)
        table.add_row(row.name, *cells, f"{row.rise_and_fall:.0%}")
    return table
