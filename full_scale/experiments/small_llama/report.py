"""Joint results of runs: matched predictions, causes of misses, and the numbers of figures."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from operator import attrgetter
from typing import Any, NamedTuple

from dph_theory.support.record import as_json
from dph_theory.support.table import Table

from ..enumerable_tasks.exact import ExactMeasures
from .experiments import experiments
from .finished_runs import CAUSES, ExpectedGradientRun, FinishedRun, expected_gradient_in, why_missed
from .runs import SEQUENCE, TOKEN_FORWARD, TOKEN_REVERSE, LlamaRun

ExpectedGradientRuns = Mapping[str, ExpectedGradientRun]


class Tally(NamedTuple):
    """Counts of an experiment's runs: finished, and matching their prediction."""

    experiment: str
    declared: int
    runs: int
    judged: int  # Runs with a stationary policy that they were meant to reach.
    matched: int  # Within all tolerances.
    matched_but_for_answers: int  # By nearest policy and pass rate only.
    missed_by: Mapping[str, int]  # Misses by `why_missed`.


def is_judged(outcome: FinishedRun) -> bool:
    """True if the run has a predicted policy and belongs to an experiment meant to converge."""
    experiment = experiments().get(outcome.run.experiment)
    return outcome.prediction is not None and (experiment is None or experiment.to_the_end)


def tallies(
    runs: Sequence[LlamaRun], outcomes: Sequence[FinishedRun], expected_gradient: ExpectedGradientRuns
) -> list[Tally]:
    """Count declared, finished and matching runs and causes of misses, one `Tally` per experiment."""
    rows = []
    for name, declared in Counter(run.experiment for run in runs).items():
        done = [outcome for outcome in outcomes if outcome.run.experiment == name]
        judged = [outcome for outcome in done if is_judged(outcome)]
        causes = [why_missed(o, expected_gradient_in(expected_gradient, o.run)) for o in judged]
        rows.append(
            Tally(
                experiment=name,
                declared=declared,
                runs=len(done),
                judged=len(judged),
                matched=sum(not outcome.misses for outcome in judged),
                matched_but_for_answers=sum({*outcome.misses} <= {"answers"} for outcome in judged),
                missed_by=Counter(cause for cause in causes if cause),
            )
        )
    return rows


def tally_table(rows: Sequence[Tally]) -> Table:
    """One row per experiment: finished runs, converged runs, and causes of the misses."""
    questions = {name: experiment.question for name, experiment in experiments().items()}
    cells = [
        (
            tally.experiment,
            questions.get(tally.experiment, ""),
            f"{tally.runs} of {tally.declared}",
            f"{tally.matched} of {tally.judged}" if tally.judged else "",
            ", ".join(f"{count} {CAUSES[cause]}" for cause, count in tally.missed_by.items()),
        )
        for tally in rows
    ]
    return Table.from_rows(("experiment", "", "runs", "converged", "missed by"), cells)


def findings(outcomes: Sequence[FinishedRun], expected_gradient: ExpectedGradientRuns) -> list[str]:
    """Sentences: matching runs of each experiment that is meant to converge, and causes of the misses."""
    rows = tallies([outcome.run for outcome in outcomes], outcomes, expected_gradient)
    return [_of_tally(tally) for tally in rows if tally.judged]


def _of_tally(tally: Tally) -> str:
    missed_by = tally.missed_by
    causes = [f"{missed_by[cause]} {words}" for cause, words in CAUSES.items() if missed_by.get(cause)]
    missed = f" (missed: {', '.join(causes)})" if causes else ""
    return (
        f"{tally.experiment}: {tally.matched} of {tally.judged} runs converged to their stationary policy"
        f"{missed}; by the nearest policy and the pass rate alone {tally.matched_but_for_answers}."
    )


PREDICTED_MEASURES: Mapping[str, Callable[[ExactMeasures], float]] = {
    "pass_rate": lambda exact: sum(exact.pass_rate) / len(exact.pass_rate),
    "first_share": attrgetter("first_share"),
    "effective_answers": attrgetter("effective_answers"),
}
MEASURES: Mapping[str, Callable[[ExactMeasures], float]] = {
    **PREDICTED_MEASURES,
    "favourite_share": attrgetter("favourite_share"),
    "pass_at_16": lambda exact: exact.pass_at_k[-1],
}
"""Measures at a run's end; the first ones also at its stationary policy."""
SHOWN_POLICIES = (TOKEN_FORWARD, TOKEN_REVERSE, SEQUENCE)  # Policies whose distances are shown.


def run_row(outcome: FinishedRun, expected: ExpectedGradientRun | None) -> dict[str, Any]:
    """One row of the table that figures read; missing or None values are unknown.

    Fields and digest of the run; judged (`is_judged`), `predicted` (the policy's name), nearest, `verdict`,
    kl_to_prediction; MEASURES at the end, PREDICTED_MEASURES at its stationary policy as predicted_pass_rate
    and so on, means over rows; `kl <policy>`: KL(run || policy); odds_deviation: the predicted effect of
    sampling noise on the log odds, by the adjoint and by RIVALS; why_missed.
    """
    prediction, deviations = outcome.prediction, dict[str, float | None]()
    if expected is not None:
        deviations["odds_deviation"] = expected.deviations.get("favourite_odds")
        deviations |= {f"odds_deviation_{name}": deviation for name, deviation in expected.rivals.items()}
    predicted = {}
    if prediction is not None:
        measures = PREDICTED_MEASURES.items()
        predicted = {f"predicted_{name}": measure(prediction.exact) for name, measure in measures}
    return {
        **asdict(outcome.run),
        "digest": outcome.run.digest,
        "judged": is_judged(outcome),
        "predicted": outcome.own,
        "nearest": outcome.nearest,
        "verdict": outcome.verdict,
        "kl_to_prediction": outcome.kl_to_prediction,
        **{name: measure(outcome.last.exact) for name, measure in MEASURES.items()},
        **predicted,
        **deviations,
        "why_missed": why_missed(outcome, expected),
        **{f"kl {name}": outcome.last.kl[name] for name in SHOWN_POLICIES if name in outcome.last.kl},
    }


def results(outcomes: Sequence[FinishedRun], expected_gradient: ExpectedGradientRuns) -> dict[str, Any]:
    """Columns of `run_row` over all runs, rounded to five digits, for the record that figures read."""
    rows = [run_row(outcome, expected_gradient_in(expected_gradient, outcome.run)) for outcome in outcomes]
    columns = dict.fromkeys(name for row in rows for name in row)
    runs = {name: [row.get(name) for row in rows] for name in columns}
    return {"runs": as_json(runs, digits=5)}
