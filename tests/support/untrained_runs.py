"""Finished runs of a small Llama that nobody trained."""

from full_scale.experiments.enumerable_tasks.exact import exact
from full_scale.experiments.enumerable_tasks.tasks import enumerable_task
from full_scale.experiments.small_llama.finished_runs import (
    ExpectedGradientRun,
    FinishedRun,
    RunPoint,
    expected_gradient_of,
)
from full_scale.experiments.small_llama.predictions import predictions
from full_scale.experiments.small_llama.runs import LlamaRun

TASK = enumerable_task("selection-2")
RUN = LlamaRun("which_policy", TASK.name, "k3", 0.5)
PREDICTED = predictions(RUN, TASK, TASK.base)


def outcome(ended_at=0, kl=(0.001, 0.2, 0.1), run=RUN, predicted=PREDICTED):
    """A run that ended exactly at one of the policies predicted, with these distances."""
    start = exact(TASK, TASK.base, TASK.base)
    end = predicted[ended_at].exact if predicted else start
    distances = {policy.name: distance for policy, distance in zip(predicted, kl, strict=False)}
    return FinishedRun(run, predicted, (RunPoint(0, start, distances), RunPoint(250, end, distances)), {})


def expected_at(ended_at, kl, deviations):
    """An expected-gradient run of RUN that ends at one of the policies predicted."""
    distances = {policy.name: distance for policy, distance in zip(PREDICTED, kl, strict=True)}
    return ExpectedGradientRun(
        expected_gradient_of(RUN),
        PREDICTED[ended_at].exact,
        distances,
        deviations,
        PREDICTED[0].exact.pass_rate,
    )
