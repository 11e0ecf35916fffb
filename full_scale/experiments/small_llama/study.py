"""Study of the small Llama: predictions are stored before a run, and misses are explained."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..runner import RUN, RunStore, Step, Study, StudyOptions, StudyReport
from . import report
from .experiments import experiments, quick_runs, record_runs
from .finished_runs import (
    UNEXPLAINED,
    ExpectedGradientRun,
    FinishedRun,
    PredictedPolicy,
    expected_gradient_in,
    expected_gradient_of,
    why_missed,
)
from .runs import LlamaRun

PREDICTION, EXPECTED_GRADIENT = "prediction", "expected_gradient"  # Rows stored before a run.


def steps(store: RunStore, runs: Sequence[LlamaRun], options: StudyOptions) -> Iterator[Step]:
    """Yield the study's steps: predictions, expected-gradient runs, runs; on request, causes of misses.

    In a quick study, runs with a stationary policy have no expected-gradient run.
    """
    named = {run.id: run for run in runs}
    missing = [named[name] for name in store.missing(RUN, named)]
    # In one process, so that no two fit the same base.
    yield Step(PREDICTION, f"{__package__}.training:predicted", _jobs(store, missing))
    predicted = store.read(PREDICTION, PredictedPolicy)
    yield _in_expectation(store, [run for run in missing if not (options.quick and predicted[run.id])])
    jobs = {name: (run, predicted.get(name, ()), store.bases) for name, run in named.items()}
    yield Step(RUN, f"{__package__}.training:conduct", jobs, side_by_side=True)
    if options.expected_gradient:
        yield from explanations(store, runs)


def explanations(store: RunStore, runs: Sequence[LlamaRun]) -> Iterator[Step]:
    """Yield steps that find out if misses come from too few steps (expected gradients) or from noise."""
    outcomes = sorted(outcomes_of(store, runs), key=lambda outcome: not outcome.misses)
    yield _in_expectation(store, [outcome.run for outcome in outcomes])
    stored = expected_gradient_runs(store)
    matching = [(outcome, expected_gradient_in(stored, outcome.run)) for outcome in outcomes]
    jobs = {
        expected.run.id: (expected, store.bases)
        for outcome, expected in matching
        if expected and not expected.sampled and why_missed(outcome, expected) == UNEXPLAINED
    }
    function = f"{__package__}.expected_gradient:with_samples"
    yield Step(EXPECTED_GRADIENT, function, jobs, side_by_side=True, anew=True)


def _in_expectation(store: RunStore, runs: Sequence[LlamaRun]) -> Step:
    function = f"{__package__}.expected_gradient:train_in_expectation"
    return Step(EXPECTED_GRADIENT, function, _jobs(store, map(expected_gradient_of, runs)), side_by_side=True)


def _jobs(store: RunStore, runs: Iterable[LlamaRun | None]) -> dict[str, tuple[Any, ...]]:
    return {run.id: (run, store.bases) for run in runs if run is not None}


def outcomes_of(store: RunStore, runs: Iterable[LlamaRun]) -> list[FinishedRun]:
    """Finished runs among these, in order."""
    return [*store.read(RUN, FinishedRun, [run.id for run in runs]).values()]


def expected_gradient_runs(store: RunStore) -> dict[str, ExpectedGradientRun]:
    """Expected-gradient runs by the id of their representative run (`expected_gradient_of`)."""
    return store.read(EXPECTED_GRADIENT, ExpectedGradientRun)


def study_report(store: RunStore, runs: Sequence[LlamaRun], options: StudyOptions) -> StudyReport:
    """Report the number of runs that matched their prediction, and the causes of the misses."""
    outcomes, expected = outcomes_of(store, runs), expected_gradient_runs(store)

    def numbers() -> tuple[dict[str, Any], dict[str, Any]]:
        names = sorted({outcome.run.experiment for outcome in outcomes})
        return {"experiments": names}, report.results(outcomes, expected)

    table = report.tally_table(report.tallies(runs, outcomes, expected))
    return StudyReport([table], report.findings(outcomes, expected), numbers)


STUDY = Study(
    name="small-llama",
    kind="laws",
    questions={name: experiment.question for name, experiment in experiments().items()},
    declared=record_runs,
    quick=quick_runs,
    steps=steps,
    report=study_report,
    identity=lambda options: {"kind": "laws"},
    left_out=PREDICTION,
)
