"""The compact record of the pretrained Llama that figures and pages read: a run's fields, and its numbers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

from dph_theory.support.record import as_json, checked

from ..outcome import BARS
from ..stored_runs import RunStore, write_record
from . import methods
from .claims import ends_by_seed, over_seeds
from .costs import costs
from .findings import CLAIMS, Findings
from .runs import EXPLORED, GROUP, HELD, SOLVED, STORED, FinishedOpenRun, TaskMeasures, of_experiment
from .transfer import KernelSettings, stored_kernels

KIND = "pretrained"


def write_numbers(file: Path, path: str, store: RunStore, findings: Findings) -> dict[str, Any]:
    """Write the record: the base, each run's end and what was predicted of it."""
    outcomes, base = findings.outcomes, dict[str, TaskMeasures]()
    shown = [outcome for outcome in outcomes if outcome.run.experiment != "noise"]
    for outcome in shown:
        base |= outcome.course[0].tasks
    of_methods = of_experiment("methods", outcomes)
    config = {
        "model": Path(path).name,
        "model_hash": store.journal.first["model"],
        "solved": SOLVED,
        "group": GROUP,
        "stored": STORED,
        "near": BARS.validity,
        "alike": BARS.kl,
        "difference": methods.DIFFERENCE,
    }
    kernels = stored_kernels([outcome.run for outcome in outcomes], store.journal.path.parent)
    results = {
        "runs": [_row(outcome, findings) for outcome in shown],
        "base": as_json(base, digits=5),
        "claims": [
            {"name": claim.name, "theory": claim.theory, "says": claim.says, "rival": claim.rival}
            | as_json(
                vars(findings.verdicts[claim.name]) if claim.name in findings.verdicts else {}, digits=5
            )
            for claim in CLAIMS
        ],
        "at_equal_first": _at_equal_first(of_methods),
        "seeds_for": [
            {"setting": asdict(setting), "needed": as_json(rows, digits=5)}
            for setting, rows in methods.seeds_for(outcomes).items()
        ],
        "likeliest_tokens": as_json(findings.tokens, digits=4),
        "noise_forecasts": as_json(findings.noise_forecasts, digits=5),
        "noise": as_json(findings.noise_verdicts, digits=5),
        "forecasts": [
            as_json(compared, digits=4) | {"setting": asdict(compared.setting)}
            for compared in findings.comparisons
        ],
        "kernels": _with_stored(kernels, file, config),
        "costs": as_json(
            costs([(outcome.seconds_a_step, outcome.peak_gib) for outcome in of_methods]), digits=5
        ),
    }
    return write_record(file, KIND, config, results, findings.sentences)


def _row(outcome: FinishedOpenRun, findings: Findings) -> dict[str, Any]:
    """A run by all its fields, its end, and where it has one its prediction."""
    row: dict[str, Any] = as_json(outcome, digits=5)
    row |= {"run": asdict(outcome.run), "tasks": row.pop("course")[-1]["tasks"]}
    if outcome.run.id in findings.ends:
        return row | {
            "predicted": as_json(findings.ends[outcome.run.id], digits=5),
            "matched": not outcome.misses,
            "nearest": outcome.nearest,
            "kl_to_prediction": outcome.kl_to_prediction,
        }
    for task in row["tasks"].values():
        del task["first_shares"]
    return row


def _at_equal_first(outcomes: Sequence[FinishedOpenRun]) -> dict[str, list[float]]:
    """By task, means over seeds of `methods.at_equal_first`."""
    ends, means = ends_by_seed(outcomes, {}), {}
    for task in (HELD, EXPLORED):
        if seeds := over_seeds(methods.at_equal_first, ends, task):
            means[task] = [fmean(numbers) for numbers in zip(*seeds, strict=True)]
    return means


def _with_stored(
    kernels: Sequence[dict[str, Any]], file: Path, config: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """These, and those of the record that is replaced, if it is of this model: a pack has none."""
    try:
        stored = checked(json.loads(file.read_text(encoding="utf-8")), KIND)
    except (FileNotFoundError, ValueError):  # Nothing, or something else, which is replaced.
        return [*kernels]
    before = stored["results"]["kernels"] if stored["config"]["model_hash"] == config["model_hash"] else []
    measured = [_settings(kernel) for kernel in kernels]
    return [*(kernel for kernel in before if _settings(kernel) not in measured), *kernels]


def _settings(kernel: Mapping[str, Any]) -> list[Any]:
    return [kernel[name] for name in KernelSettings.__dataclass_fields__]
