"""The tables of forecasts from a run's first steps and from a kernel, as benchmarks/pilot.py stored them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dph_theory.support.record import checked
from dph_theory.support.table import Table

ROOT = Path(__file__).parents[1]
FILE = ROOT / "figures" / "numbers" / "pilot.json"
EXPERIMENTS = {
    "methods": "other methods, half-way",
    "transfer": "other tasks and optimisers, half-way",
    "anchors": "held-out prompts constrained, half-way",
}
COURSES = {
    "advantages": "advantages",
    "models, within": "three models, first step up to 1",
    "models, beyond": "three models, first step above 1",
}


def blocks() -> dict[tuple[str, str], str]:
    """The blocks by page and name."""
    stored = checked(json.loads(FILE.read_text(encoding="utf-8")), "pilot")
    results, config = stored["results"], stored["config"]
    made = {"errors": _errors(results, config), "coverage": _coverage(results, config)}
    pages = {("two-checkpoints", name): text for name, text in made.items()}
    return pages | {("predict", "domain"): _domain(results)}


def _words(name: str, config: Mapping[str, Any]) -> str:
    """What the runs of a row are, and how much of them was seen."""
    experiment, _, step = name.rpartition(", step ")
    if not experiment:
        return EXPERIMENTS[name]
    steps = config["steps"][experiment.partition(",")[0]]
    return f"{COURSES[experiment]}, {int(step) / steps:.0%} of the run seen"


def _errors(results: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    forecasts = ("no change", "line", "pilot", "kernel", "pilot and kernel")
    rows = [
        (f"{_words(name, config)} ({row['settings']})", *(_numbers(row.get(column)) for column in forecasts))
        for name, row in results["exact"].items()
    ]
    return Table.from_rows(("runs (settings)", *forecasts), rows).markdown()


def _coverage(results: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    columns = ("not trained", "trained", "not trained, with the kernel")
    rows: list[tuple[Any, ...]] = []
    for name in results["exact"]:
        sides = [results["coverage"].get(f"{name}, {column}", {}) for column in columns]
        shares = (_numbers(side.get("share")) for side in sides)
        rows.append((_words(name, config), sides[0]["runs"], *shares))
    for name, words in (("kernel", "simulated: a kernel"), ("walk", "simulated: as the pilot has it")):
        simulated = results["simulated"][name]
        ks = ", ".join(map(str, simulated["k"]))
        runs = results["simulated"]["runs"]
        rows.append((f"{words} (k = {ks})", runs, *(_numbers(simulated.get(column)) for column in columns)))
    return Table.from_rows(("runs", "how many", *columns), rows).markdown()


def _domain(results: Mapping[str, Any]) -> str:
    """Errors of forecasts by how far the first step moves log odds."""
    rows = []
    for row in results["domain"]:
        end = f"{row['from']:g} to {row['to']:g}" if row["to"] != "inf" else f"above {row['from']:g}"
        directions = " / ".join(
            f"{right} of {moved}" for right, moved in zip(row["right"], row["moved"], strict=True)
        )
        first = (
            "-"
            if row["correlation"] is None
            else f"{row['correlation']:.2f}, {row['slope']:.2f} ({row['runs']})"
        )
        models = len(row["models"])
        cells = _numbers(row["rms"]), _numbers(row["no change"]), directions, first
        rows.append((end, f"{row['settings']} ({models})", *cells))
    head = ("first step", "settings (models)", "forecast", "no change", "direction right", "after two steps")
    return Table.from_rows(head, rows).markdown()


def _numbers(values: Sequence[float] | None) -> str:
    return "-" if values is None else " / ".join(f"{value:.3f}".removeprefix("0") for value in values)
