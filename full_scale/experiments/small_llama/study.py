"""The runs: what is predicted of each is stored before it starts; nothing that is finished is lost."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from dph_theory.stationary import policy_divergence
from dph_theory.support.progress import Progress, silent

from ..enumerable_tasks.base import build_base
from ..enumerable_tasks.exact import exact
from ..enumerable_tasks.tasks import enumerable_task
from ..stored_runs import RunStore
from .expected_gradient import SAMPLED, sampled_ends, train_in_expectation
from .finished_runs import (
    UNEXPLAINED,
    ExpectedGradientRun,
    FinishedRun,
    PredictedPolicy,
    RunPoint,
    expected_gradient_in,
    expected_gradient_of,
    why_missed,
)
from .flow import LostFlow, flow_of, lost_flow
from .predictions import LIMITS, distances, predictions, stationary_policies, targets_of
from .runs import LlamaRun
from .training import tables_of, train

KIND = "laws"
PREDICTION, FLOW, EXPECTED_GRADIENT, RUN = "prediction", "flow", "expected_gradient", "run"
"""What is stored of a run: three before it starts."""


class Study:
    """The rows of runs in a folder, and how to make those that it lacks; `progress` as of `RunStore.fill`."""

    def __init__(self, folder: Path, workers: int = 1, progress: Progress = silent) -> None:
        self.store = RunStore(folder, {"kind": KIND})
        self._fill = partial(self.store.fill, workers=workers, progress=progress)

    def outcomes(self, runs: Iterable[LlamaRun]) -> list[FinishedRun]:
        """Those of the runs that are finished, in order."""
        return [*self.store.read(RUN, FinishedRun, [run.id for run in runs]).values()]

    @property
    def expected_gradient(self) -> dict[str, ExpectedGradientRun]:
        """By the id of the run that stands for all that have it (`expected_gradient_of`)."""
        return self.store.read(EXPECTED_GRADIENT, ExpectedGradientRun)

    @property
    def flows(self) -> dict[str, LostFlow]:
        """By the id of the run that stands for all that have it (`flow_of`)."""
        return self.store.read(FLOW, LostFlow)

    def run(self, runs: Sequence[LlamaRun], *, explained: bool = True) -> list[FinishedRun]:
        """The outcomes of the runs: those that the folder has, and those it lacks, run now.

        All predictions are in the journal before the first run starts. An interruption loses only the runs
        that had begun. Unless `explained`, a run with a stationary policy has no expected-gradient run beside
        it, which would say why it missed.
        """
        store, named = self.store, {run.id: run for run in runs}
        missing = [named[name] for name in store.missing(RUN, named)]
        # By one process: no two fit one base.
        store.fill(PREDICTION, _predicted, self._jobs(missing))
        self._fill(FLOW, lost_flow, self._jobs(map(flow_of, runs)))
        predicted = store.read(PREDICTION, PredictedPolicy)
        self.add_expected_gradient([run for run in missing if explained or not predicted[run.id]])
        jobs = {name: (run, predicted.get(name, ()), store.bases) for name, run in named.items()}
        self._fill(RUN, conduct, jobs)
        return self.outcomes(runs)

    def _jobs(self, runs: Iterable[LlamaRun | None]) -> dict[str, tuple[LlamaRun, Path]]:
        return {run.id: (run, self.store.bases) for run in runs if run is not None}

    def add_expected_gradient(self, runs: Iterable[LlamaRun]) -> None:
        """Train the expected-gradient runs that the folder lacks."""
        self._fill(EXPECTED_GRADIENT, train_in_expectation, self._jobs(map(expected_gradient_of, runs)))

    def add_samples(self, runs: Iterable[LlamaRun]) -> None:
        """Sample trainings for those expected-gradient runs that have none."""
        stored = self.expected_gradient
        matching = [expected_gradient_in(stored, run) for run in runs]
        jobs = {
            expected.run.id: (expected, self.store.bases)
            for expected in matching
            if expected and not expected.sampled
        }
        self._fill(EXPECTED_GRADIENT, _with_samples, jobs, anew=True)

    def explain(self, runs: Iterable[LlamaRun]) -> None:
        """What of each miss is too few steps, what noise: by expected-gradient runs, then by samples."""
        outcomes = sorted(self.outcomes(runs), key=lambda outcome: not outcome.misses)
        self.add_expected_gradient(outcome.run for outcome in outcomes)
        stored = self.expected_gradient
        self.add_samples(
            outcome.run
            for outcome in outcomes
            if why_missed(outcome, expected_gradient_in(stored, outcome.run)) == UNEXPLAINED
        )


def _predicted(run: LlamaRun, bases: Path) -> tuple[PredictedPolicy, ...]:
    task = enumerable_task(run.task)
    return predictions(run, task, tables_of(task, build_base(task, bases)))


def _with_samples(expected: ExpectedGradientRun, bases: Path) -> ExpectedGradientRun:
    return replace(expected, sampled=sampled_ends(expected.run, bases, SAMPLED))


def conduct(run: LlamaRun, predicted: tuple[PredictedPolicy, ...], bases: Path) -> FinishedRun:
    """Train, measure exactly, compare with the predictions. In a process of its own, or here."""
    task = enumerable_task(run.task)
    base = tables_of(task, build_base(task, bases))
    policies = stationary_policies(run, task, base)
    course = train(run, task, bases)
    points = [
        RunPoint(step, exact(task, tables, base), distances(task, tables, policies))
        for step, tables in course
    ]
    rows, last = task.of_rows(base), task.of_rows(course[-1][1])
    ends = {name: limit(rows, task.valid, end=task.end) for name, limit in LIMITS.items()}
    ends |= targets_of(run, task, base)
    limits = {name: float(policy_divergence(end, last, end=task.end).mean()) for name, end in ends.items()}
    return FinishedRun(run, predicted, tuple(points), limits)
