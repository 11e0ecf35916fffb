"""Finished runs of the laws that nobody trained."""

from full_scale.experiments.enumerable_tasks.box import box
from full_scale.experiments.enumerable_tasks.exact import exact
from full_scale.experiments.small_llama.predictions import predictions
from full_scale.experiments.small_llama.record import FinishedRun, RunPoint, Twin, twin_of
from full_scale.experiments.small_llama.runs import Run

TASK = box("selection-2")
RUN = Run("which_law", TASK.name, "k3", 0.5)
FOUND = predictions(RUN, TASK, TASK.base)


def outcome(ended_at=0, kl=(0.001, 0.2, 0.1), run=RUN, found=FOUND):
    """A run that ended exactly at one of the laws predicted, with these distances."""
    start = exact(TASK, TASK.base, TASK.base)
    end = found[ended_at].exact if found else start
    distances = {p.law: value for p, value in zip(found, kl, strict=False)}
    return FinishedRun(run, found, (RunPoint(0, start, distances), RunPoint(250, end, distances)), {}, 9.5)


def twin_at(ended_at, kl, deviations):
    """A twin of RUN that ends at one of the laws predicted."""
    distances = {p.law: value for p, value in zip(FOUND, kl, strict=True)}
    return Twin(twin_of(RUN), FOUND[ended_at].exact, distances, deviations, FOUND[0].exact.validity)
