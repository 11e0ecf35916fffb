"""Theory against training: every run's records against what the theory predicts, as a record and tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dph_theory.support.record import record

from .frontier import frontier
from .measurements import Measured, Run, read_runs
from .predictions import predictions
from .verdicts import LEVEL, Row, Verdict

KIND = "full_scale.comparison"


@dataclass(frozen=True)
class Table:
    """A table as text: what an entry point prints."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def compare(runs: Sequence[Path]) -> dict[str, Any]:
    """The record that holds the runs of these folders against the theory.

    A run's evaluation and training records are read from its folder, the base's evaluation from `base`
    beside it. Results: `rows` (`verdicts.Row`); per run, set and prompt the validity, KL, least KL and excess
    KL; and per run the collapse meter along `training`, step by step. Findings: one sentence a row.
    ValueError for missing or malformed files.
    """
    found = read_runs(runs)
    rows = [row for run in found for row in predictions(run)]
    return record(
        KIND,
        seed=0,
        config={"runs": [run.name for run in found], "level": LEVEL},
        results={
            "rows": [row.as_dict() for row in rows],
            "runs": {run.name: _measurements(run) for run in found},
            "training": {run.name: _along_training(run) for run in found},
        },
        findings=[*(_sentence(row) for row in rows), _count(rows)],
        packages=("numpy", "scipy", "torch"),
    )


def tables(comparison: dict[str, Any]) -> list[Table]:
    """What was measured on each set of each run, and each prediction with its verdict."""
    results = comparison["results"]
    measured = [
        (run, name, *(f"{here[key]:.3f}" for key in ("validity", "base_validity", "kl", "cost", "excess")))
        for run, sets in results["runs"].items()
        for name, here in sets.items()
    ]
    judged = [tuple(_cells(row)) for row in results["rows"]]
    return [
        Table(
            "measured, means over prompts",
            ("run", "set", "validity", "base", "KL", "least KL", "excess KL"),
            tuple(measured),
        ),
        Table(
            "theory against training",
            ("run", "set", "prediction", "theory", "measured", "predicted", "se", "margin", "verdict", ""),
            tuple(judged),
        ),
    ]


def _cells(row: dict[str, Any]) -> list[str]:
    predicted = f"{row['relation']} {float(row['prediction']):.3f}"
    return [
        row["run"],
        row["set"],
        row["name"],
        row["theory"],
        f"{float(row['estimate']):.3f}",
        predicted,
        f"{float(row['standard_error']):.3f}",
        f"{float(row['margin']):.3f}",
        row["verdict"],
        row["detail"],
    ]


def _measurements(run: Run) -> dict[str, Any]:
    return {name: _of_set(here) for name, here in run.sets.items() if here.correct.shape[1] >= 2}


def _along_training(run: Run) -> list[dict[str, Any]]:
    """What the collapse meter logged, without its prefix, at each step that has it."""
    prefix = "collapse/"
    return [
        {"step": entry.get("step")}
        | {key.removeprefix(prefix): value for key, value in entry.items() if key.startswith(prefix)}
        for entry in run.training.get("log", ())
        if f"{prefix}excess_kl" in entry
    ]


def _of_set(here: Measured) -> dict[str, Any]:
    found = frontier(here)
    columns = (here.ids, here.rate, here.base_rate, found.kl, found.cost, found.excess, found.standard_error)
    keys = ("id", "validity", "base_validity", "kl", "cost", "excess", "excess_se")
    return {
        "validity": float(here.rate.mean()),
        "base_validity": float(here.base_rate.mean()),
        "kl": float(found.kl.mean()),
        "cost": float(found.cost.mean()),
        "excess": found.mean_excess.value,
        "excess_se": found.mean_excess.standard_error,
        "prompts": [
            dict(zip(keys, (values[0], *map(float, values[1:])), strict=True))
            for values in zip(*columns, strict=True)
        ],
    }


def _sentence(row: Row) -> str:
    return (
        f"{row.run}, {row.set}: {row.name} {row.estimate:.3g} against {row.relation} {row.prediction:.3g} "
        f"({row.theory}), margin {row.margin:.2g}: {row.verdict}"
    )


def _count(rows: Sequence[Row]) -> str:
    counts = {verdict: sum(row.verdict == verdict for row in rows) for verdict in Verdict}
    return f"{len(rows)} predictions: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
