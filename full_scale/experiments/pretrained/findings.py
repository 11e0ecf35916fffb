"""Results of the pretrained Llama's runs beside their predictions: tables, sentences, and a record."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from dph_theory.support.record import as_json

from ..claims import SHOWN, Claim, ClaimVerdict, claim_rows, claim_table, over_seeds
from ..outcome import BARS
from ..runner import RUN, RunStore, StudyOptions, StudyReport
from . import advantages, anchors, methods, stationary, transfer, words
from .claims import ends_by_seed, judged
from .open_prompts import SOLVED, STORED
from .runs import (
    COURSES,
    EXPLORED,
    GROUP,
    UNTRAINED,
    FinishedOpenRun,
    OpenRun,
    Outcomes,
    TaskMeasures,
    of_experiment,
)

END, KERNEL, FORECAST = "predicted end", "kernel", "forecast"
ADAM_FORECAST = "forecast of Adam's steps"
"""Kinds of stored rows beside runs, computed before the runs."""
CLAIMS: tuple[Claim, ...] = (*methods.CLAIMS, *anchors.CLAIMS, *advantages.CLAIMS, *words.CLAIMS)


def report(store: RunStore, runs: Sequence[OpenRun], options: StudyOptions) -> StudyReport:
    """Compare runs with their predictions: tables, numbers of converged runs, and outcomes of the claims."""
    outcomes: Outcomes = [*store.read(RUN, FinishedOpenRun, [run.id for run in runs]).values()]
    forecasts = store.read(FORECAST, transfer.TransferForecast)
    of_adam = store.read(ADAM_FORECAST, transfer.TransferForecast)
    comparisons = transfer.comparisons(outcomes, forecasts, of_adam)
    verdicts = judged(CLAIMS, outcomes, {name: forecast.anchors for name, forecast in forecasts.items()})
    tables = (
        *(stationary.table(outcomes), transfer.table(comparisons), words.table(outcomes)),
        claim_table(CLAIMS, verdicts),
    )
    numbers = partial(_numbers, store, outcomes, options.model, comparisons, verdicts)
    return StudyReport([table for table in tables if table.rows], sentences(outcomes, verdicts), numbers)


def sentences(outcomes: Outcomes, verdicts: Mapping[str, ClaimVerdict]) -> list[str]:
    """Sentences: the number of runs that converged as predicted, and the claims that were confirmed."""
    expected = of_experiment("stationary", outcomes)
    claims = Counter(verdict.verdict for verdict in verdicts.values())
    words = [f"{claims[word]} {text}" for word, text in SHOWN.items() if claims[word]]
    matched = f"{sum(not end.misses for end in expected)} of {len(expected)}"
    every = {
        f"{matched} expected-gradient runs converged to their stationary policy.": expected,
        f"Of {claims.total()} predictions of differences between runs: {', '.join(words)}.": claims,
    }
    return [sentence for sentence, subject in every.items() if subject]


def base_of(outcomes: Outcomes) -> dict[str, TaskMeasures]:
    """Measures by task of the study's own model before training; runs of other models are left out."""
    own = [outcome.course[0].tasks for outcome in outcomes if outcome.run.model is None]
    return {task: measures for tasks in own for task, measures in tasks.items()}


def _numbers(
    store: RunStore,
    outcomes: Outcomes,
    path: str,
    comparisons: Sequence[transfer.ForecastComparison],
    verdicts: Mapping[str, ClaimVerdict],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Config and results of the stored record: the base, each run's end, predictions, judged claims."""
    shown = [outcome for outcome in outcomes if outcome.run.experiment not in COURSES]
    of_methods = of_experiment("methods", outcomes)
    config = {"model": Path(path).name, "model_hash": store.journal.identity["model"], "solved": SOLVED}
    config |= {"group": GROUP, "stored": STORED, "near": BARS.pass_rate, "alike": BARS.kl}
    ends = store.read(END, dict)
    results = {
        "runs": [_row(outcome, ends.get(outcome.run.id)) for outcome in shown],
        "base": as_json(base_of(shown), digits=5),
        "claims": claim_rows(CLAIMS, verdicts),
        "advantages": advantages.courses(outcomes),
        "words": words.courses(outcomes),
        "at_equal_first": _at_equal_first(of_methods),
        "forecasts": [
            as_json(compared, digits=4) | {"setting": asdict(compared.setting)} for compared in comparisons
        ],
        "forecast_errors": as_json(transfer.forecast_errors(comparisons), digits=4),
        "kernels": [*store.read(KERNEL, dict).values()],
    }
    return config, results


def _row(outcome: FinishedOpenRun, predicted: Any) -> dict[str, Any]:
    row: dict[str, Any] = as_json(outcome, digits=5)
    row |= {"run": asdict(outcome.run), "tasks": row.pop("course")[-1]["tasks"]}
    if predicted is not None:
        row |= {"predicted": as_json(predicted, digits=5), "matched": not outcome.misses}
        return row | {"nearest": outcome.nearest, "kl_to_prediction": outcome.kl_to_prediction}
    for task in row["tasks"].values():
        del task["first_shares"]
    return row


def _at_equal_first(outcomes: Sequence[FinishedOpenRun]) -> dict[str, list[float]]:
    ends, means = ends_by_seed(outcomes, {}), {}
    for task in (UNTRAINED, EXPLORED):
        if seeds := over_seeds(methods.at_equal_first, ends, task):
            means[task] = [fmean(numbers) for numbers in zip(*seeds, strict=True)]
    return means
