"""A run of the small Llama: what is predicted of it, the training, and its exact measures."""

from pathlib import Path

from dph_theory.stationary import policy_divergence

from ..enumerable_tasks.base import build_base
from ..enumerable_tasks.exact import exact
from ..enumerable_tasks.tasks import enumerable_task
from .finished_runs import FinishedRun, PredictedPolicy, RunPoint
from .predictions import LIMITS, distances, predictions, stationary_policies, targets_of
from .runs import LlamaRun
from .training import tables_of, train


def predicted(run: LlamaRun, bases: Path) -> tuple[PredictedPolicy, ...]:
    """What theory says of the run, from the base that is fitted for it."""
    task = enumerable_task(run.task)
    return predictions(run, task, tables_of(task, build_base(task, bases)))


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
