"""The tables of "Where will this run be later?", from the stored record of benchmarks/pilot.py."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dph_theory.support.record import checked
from dph_theory.support.table import Table

FILE = Path(__file__).parents[1] / "figures" / "numbers" / "pilot.json"
EXPERIMENTS = {
    "methods": "other methods, half-way",
    "transfer": "other tasks and optimisers, half-way",
    "anchors": "held-out prompts constrained, half-way",
}


def blocks() -> dict[str, str]:
    """The blocks by name."""
    stored = checked(json.loads(FILE.read_text(encoding="utf-8")), "pilot")
    results, config = stored["results"], stored["config"]
    return {
        "rivals": _errors(results, config, ("no change", "one answer", "line", "pilot")),
        "kernel": _errors(results, config, ("pilot", "kernel", "pilot and kernel")),
        "counts": _counts(results, config),
        "coverage": _coverage(results, config),
    }


def _names(results: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Words and rows of errors by exact rates, by name in the other parts of the record."""
    half = {name: (words, results["half"][name]) for name, words in EXPERIMENTS.items()}
    fifths = {
        f"advantages, step {step}": (f"advantages, {int(step) / config['steps']:.0%} of the run seen", row)
        for step, row in results["fifths"].items()
    }
    return half | fifths


def _errors(results: Mapping[str, Any], config: Mapping[str, Any], forecasts: Sequence[str]) -> str:
    rows = [
        (f"{words} ({row['settings']})", *(_numbers(row[name]) for name in forecasts))
        for words, row in _names(results, config).values()
        if forecasts[-1] in row
    ]
    return Table.from_rows(("runs (settings)", *forecasts), rows).markdown()


def _counts(results: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    forecasts = ("plugged in", "each side shrunk", "pilot")
    head = ("runs", "line, (c + 1/2)/(n + 1)", "line, each checkpoint shrunk", "pilot")
    rows = [
        (words, *(_numbers(results["counts"][name][forecast]) for forecast in forecasts))
        for name, (words, _) in _names(results, config).items()
    ]
    return Table.from_rows(head, rows).markdown()


def _coverage(results: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    kinds = ("not trained", "trained")
    rows: list[tuple[Any, ...]] = []
    for name, (words, _) in _names(results, config).items():
        sides = [results["coverage"][f"{name}, {kind}"] for kind in kinds]
        rows.append((words, sides[0]["runs"], *(_numbers(side["share"]) for side in sides)))
    for name, words in (("kernel", "simulated: a kernel"), ("walk", "simulated: as the pilot has it")):
        simulated = results["simulated"][name]
        ks = ", ".join(map(str, simulated["k"]))
        runs = results["simulated"]["runs"]
        rows.append((f"{words} (k = {ks})", runs, *(_numbers(simulated[kind]) for kind in kinds)))
    return Table.from_rows(("runs", "how many", *kinds), rows).markdown()


def _numbers(values: Sequence[float] | None) -> str:
    return "-" if values is None else " / ".join(f"{value:.3f}".removeprefix("0") for value in values)
