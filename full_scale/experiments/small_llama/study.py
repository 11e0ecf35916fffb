"""The runs: what is predicted of each is kept before it starts; nothing that is finished is lost."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from dph_theory.stationary import policy_divergence
from dph_theory.support.progress import Progress, silent

from ..enumerable_tasks.base import build_base
from ..enumerable_tasks.box import box
from ..enumerable_tasks.exact import exact
from ..kept import Kept
from .flow import LostFlow, flow_of, lost_flow
from .predictions import LIMITS, distances, laws_of, predictions, targets_of
from .record import UNEXPLAINED, FinishedRun, PredictedLaw, RunPoint, Twin, twin_in, twin_of, why_missed
from .runs import Run
from .training import tables_of, train
from .twin import LONGEST, SAMPLED, sampled_ends, twin

KIND = "laws"
OF_RANDOM_REWARDS = 200
"""Trainings on samples of a run whose rewards are a coin: what they move on average is noise alone."""
PREDICTION, FLOW, TWIN, RUN = "prediction", "flow", "twin", "run"
"""What is kept of a run: three before it starts."""


class Study:
    """The rows of runs in a folder, and the work that makes what it lacks; `progress` as of `Kept.settle`."""

    def __init__(self, folder: Path, workers: int = 1, progress: Progress = silent) -> None:
        self.kept = Kept(folder, {"kind": KIND})
        self._settle = partial(self.kept.settle, workers=workers, progress=progress)

    def outcomes(self, runs: Iterable[Run]) -> list[FinishedRun]:
        """Those of the runs that are finished, in order."""
        return [*self.kept.read(RUN, FinishedRun, [run.id for run in runs]).values()]

    @property
    def twins(self) -> dict[str, Twin]:
        """By the id of the run that stands for all that have it (`twin_of`)."""
        return self.kept.read(TWIN, Twin)

    @property
    def flows(self) -> dict[str, LostFlow]:
        """By the id of the run that stands for all that have it (`flow_of`)."""
        return self.kept.read(FLOW, LostFlow)

    def run(self, runs: Sequence[Run], *, explained: bool = True) -> list[FinishedRun]:
        """The outcomes of the runs: those that the folder has, and those it lacks, run now.

        All predictions are in the journal before the first run starts. An interruption loses only the runs
        that had begun. Unless `explained`, a run with a stationary policy has no expected-gradient run beside
        it, which would say why it missed.
        """
        kept, named = self.kept, {run.id: run for run in runs}
        missing = [named[name] for name in kept.lacks(RUN, named)]
        # By one process: no two fit one base.
        kept.settle(PREDICTION, _predicted, {run.id: (run, kept.bases) for run in missing})
        self.add_flows(runs)
        predicted = kept.read(PREDICTION, PredictedLaw)
        self.add_twins([run for run in missing if explained or not predicted[run.id]])
        self.add_samples([run for run in missing if not run.informative])
        jobs = {name: (run, predicted.get(name, ()), kept.bases) for name, run in named.items()}
        self._settle(RUN, conduct, jobs)
        return self.outcomes(runs)

    def add_flows(self, runs: Iterable[Run]) -> None:
        """Work out the flows that runs with lost answers have, and the folder lacks."""
        asked = {of.id: (of, self.kept.bases) for run in runs if (of := flow_of(run)) is not None}
        self._settle(FLOW, lost_flow, asked)

    def add_twins(self, runs: Iterable[Run]) -> None:
        """Train the expected-gradient runs that the folder lacks."""
        asked = {of.id: (of, self.kept.bases) for run in runs if (of := twin_of(run)) is not None}
        self._settle(TWIN, _twin, asked)

    def add_samples(self, runs: Iterable[Run]) -> None:
        """Sample trainings for those expected-gradient runs that have none."""
        twins = self.twins
        found = [twin for run in runs if (twin := twin_in(twins, run)) and not twin.sampled]
        self._settle(TWIN, _sampled, {twin.run.id: (twin, self.kept.bases) for twin in found}, anew=True)

    def explain(self, runs: Iterable[Run]) -> None:
        """What of each miss is too few steps, what noise: by expected-gradient runs, then by samples."""
        outcomes = sorted(self.outcomes(runs), key=lambda outcome: not outcome.misses)
        self.add_twins(outcome.run for outcome in outcomes)
        twins = self.twins
        self.add_samples(o.run for o in outcomes if why_missed(o, twin_in(twins, o.run)) == UNEXPLAINED)


def _predicted(run: Run, bases: Path) -> tuple[PredictedLaw, ...]:
    task = box(run.task)
    return predictions(run, task, tables_of(task, build_base(task, bases)))


def _sampled(found: Twin, bases: Path) -> Twin:
    seeds = SAMPLED if found.run.informative else OF_RANDOM_REWARDS
    return replace(found, sampled=sampled_ends(found.run, bases, seeds))


def _twin(run: Run, bases: Path) -> Twin:
    return twin(run, bases, spreads=run.steps <= LONGEST[run.optimiser])


def conduct(run: Run, predicted: tuple[PredictedLaw, ...], bases: Path) -> FinishedRun:
    """Train, measure exactly, compare with the predictions. In a process of its own, or here."""
    begun = time.monotonic()
    task = box(run.task)
    base = tables_of(task, build_base(task, bases))
    laws = laws_of(run, task, base)
    course = train(run, task, bases)
    points = [
        RunPoint(at.step, exact(task, at.tables, base), distances(task, at.tables, laws)) for at in course
    ]
    rows, last = task.of_rows(base), task.of_rows(course[-1].tables)
    ends = {name: limit(rows, task.valid, end=task.end) for name, limit in LIMITS.items()}
    ends |= targets_of(run, task, base)
    limits = {name: float(policy_divergence(end, last, end=task.end).mean()) for name, end in ends.items()}
    return FinishedRun(run, predicted, tuple(points), limits, time.monotonic() - begun)
