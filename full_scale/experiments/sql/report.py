"""The report of the SQL study: Pass@k by method, the predictions, and the numbers that figures read."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dph_theory.support.record import as_json
from dph_theory.support.table import Table

from ..claims import claim_rows, claim_table, judge, over_seeds
from ..runner import RUN, RunStore, StudyOptions, StudyReport
from .claims import CLAIMS, SeedRuns
from .runs import Answered, FinishedSqlRun, MeasuredBase, SharesForecast, SqlRun, declared

BASE, FORECAST = "base", "forecast"
SHOWN = (1, 2, 4, 8, 16, 32, 64)
"""Values of k in the tables."""


def report(store: RunStore, runs: Sequence[SqlRun], options: StudyOptions) -> StudyReport:
    """Report Pass@k of each method at its last step, and each declared prediction with its outcome."""
    outcomes = [*store.read(RUN, FinishedSqlRun, [run.id for run in runs]).values()]
    bases = store.read(BASE, MeasuredBase)
    if not bases:
        return StudyReport([], ["No run is finished yet."], lambda: ({}, {}))
    base, forecasts = bases["base"], store.read(FORECAST, SharesForecast)
    by_seed: dict[int, dict[str, FinishedSqlRun]] = {}
    for outcome in outcomes:
        by_seed.setdefault(outcome.run.seed, {})[outcome.run.label] = outcome
    seeds = {seed: SeedRuns(of_seed, base, forecasts) for seed, of_seed in by_seed.items()}
    values = {claim.name: over_seeds(claim.value, seeds) for claim in CLAIMS}
    verdicts = {claim.name: judge(claim, values[claim.name]) for claim in CLAIMS if values[claim.name]}
    judged = [verdict.verdict for verdict in verdicts.values()]
    sentences = [
        f"Of {len(CLAIMS)} predictions {judged.count('held')} came out, {judged.count('missed')} did not, "
        f"{judged.count('undecided')} are undecided, and {len(CLAIMS) - len(judged)} have no finished runs."
    ]

    def numbers() -> tuple[dict[str, Any], dict[str, Any]]:
        claims = claim_rows(CLAIMS, verdicts)
        for row in claims:
            row["values"] = [round(value, 5) for value in values[row["name"]]]
        results = {
            "base": {"held_out": _curve(base.held_out), "trained": _curve(base.trained)},
            "runs": [_row(outcome) for outcome in outcomes],
            "forecasts": {name: as_json(forecast, 5) for name, forecast in forecasts.items()},
            "claims": claims,
        }
        return {
            "shown": SHOWN,
            "declared": len(declared()),
            "prompts": len(base.held_out.correct),
            "explored": base.explored,
        }, results

    return StudyReport([pass_table(base, outcomes), claim_table(CLAIMS, verdicts)], sentences, numbers)


def pass_table(base: MeasuredBase, outcomes: Sequence[FinishedSqlRun]) -> Table:
    """Table of held-out Pass@k after each method's last step, averaged over seeds."""
    labels = dict.fromkeys(outcome.run.label for outcome in outcomes)
    rows: list[tuple[Any, ...]] = [("base", "", *(f"{base.held_out.pass_at(k):.3f}" for k in SHOWN))]
    for label in labels:
        own = [outcome.course[-1].held_out for outcome in outcomes if outcome.run.label == label]
        means = [np.mean([answers.pass_at(k) for answers in own]) for k in SHOWN]
        rows.append((label, str(len(own)), *(f"{mean:.3f}" for mean in means)))
    heads = ("method", "seeds", *(f"Pass@{k}" for k in SHOWN))
    return Table.from_rows(heads, rows, "held-out questions, after the last step")


def _curve(answers: Answered) -> dict[str, Any]:
    return {
        "pass_at": [round(answers.pass_at(k), 5) for k in SHOWN],
        "styles": as_json(answers.shares, 5),
        "style_entropy": round(answers.style_entropy, 5),
    }


def _row(outcome: FinishedSqlRun) -> dict[str, Any]:
    return {
        "label": outcome.run.label,
        "experiment": outcome.run.experiment,
        "seed": outcome.run.seed,
        "seconds": outcome.seconds,
        "course": [
            {
                "step": point.step,
                "held_out": _curve(point.held_out),
                "trained": _curve(point.trained),
                "kl": round(point.kl, 5),
                "excess_kl": round(point.excess_kl, 5),
            }
            for point in outcome.course
        ],
        "hotter": [{"temperature": a.temperature, **_curve(a)} for a in outcome.hotter],
    }
