"""Study of the pretrained Llama: its experiments, the predictions before each run, and the runs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..runner import RUN, RunStore, Step, Study, StudyOptions
from . import advantages, anchors, findings, methods, models, stationary, transfer, words
from .open_prompts import STORED
from .runs import GROUP, OpenRun

EXPERIMENTS: Mapping[str, tuple[Callable[[], list[OpenRun]], str]] = {
    "stationary": (stationary.declared, "Does each form of the KL converge as predicted, without noise?"),
    "methods": (methods.declared, "Which method retains Pass@k, on trained and on held-out prompts?"),
    "anchors": (anchors.declared, "Do a few prompts anchored to the base retain the others?"),
    "advantages": (advantages.declared, "Which divisor of advantages retains correct answers?"),
    "words": (words.declared, "And if the answers cannot be guessed?"),
    "transfer": (transfer.declared, "And other prompts and optimisers, as the kernel of the base predicts?"),
    "models": (models.declared, "And other models, new to the forecast?"),
}  # fmt: skip
"""Declared runs and question of each experiment, whatever the results."""


def declared() -> list[OpenRun]:
    """Declared runs of all experiments."""
    return [run for runs, _ in EXPERIMENTS.values() for run in runs()]


def quick_runs() -> list[OpenRun]:
    """Short runs: two by expected gradients to stationary policies, two on samples, with a KL and without."""
    first = stationary.declared()[0]
    short = replace(first, tasks=first.tasks[:2], coefficient=0.5, steps=40, learning_rate=3e-5)
    few = [replace(run, seed=0, steps=8) for run in (methods.FREE, methods.setting("GRPO", "k3", 0.3))]
    return [*(replace(short, kl=kl) for kl in ("reward", "k3")), *few]


def steps(store: RunStore, runs: Sequence[OpenRun], options: StudyOptions) -> Iterator[Step]:
    """Yield the study's steps in order: predictions for each kind of run, then the runs."""
    path, room = options.model, __package__
    predictable = {run.id: (path, run) for run in runs if run.experiment == "stationary"}
    yield Step(findings.END, f"{room}.conduct:predicted_ends", predictable)
    folder = store.journal.path.parent
    paths = models.paths(path, runs, store.bases)
    coupled = {
        run.id: (paths[run.model], run, folder)
        for run in runs
        if run.experiment in ("methods", "anchors", "transfer", "models")
    }
    # One kernel per base: measured by one process, then shared.
    kernels = {transfer.KernelSettings.of_run(job[1]).digest: job for job in coupled.values()}
    yield Step(findings.KERNEL, f"{room}.kernels:kernel_summary", kernels)
    yield Step(findings.FORECAST, f"{room}.kernels:forecast", coupled)
    forecasts = store.read(findings.FORECAST, transfer.TransferForecast, coupled)
    pinned = {name: forecast.anchors for name, forecast in forecasts.items()}
    by_adam = {
        name: (*job, pinned[name])
        for name, job in coupled.items()
        if job[1].experiment == "models" and len(job[1].tasks) == 1
    }
    yield Step(findings.ADAM_FORECAST, f"{room}.kernels:adam_forecast", by_adam)
    jobs = {run.id: (paths[run.model], run, pinned.get(run.id) or anchors.by_lot(run)) for run in runs}
    yield Step(RUN, f"{room}.conduct:conduct", jobs, side_by_side=True)


def identity(options: StudyOptions) -> dict[str, Any]:
    """Identity of all rows: the model's weights, and sizes that are not fields of a run."""
    from ...models.load import model_hash

    return {"kind": "pretrained", "model": model_hash(options.model), "group": GROUP, "stored": STORED}


STUDY = Study(
    name="pretrained",
    kind="pretrained",
    questions={name: question for name, (_, question) in EXPERIMENTS.items()},
    declared=declared,
    quick=quick_runs,
    steps=steps,
    report=findings.report,
    identity=identity,
    claims=findings.CLAIMS,
)
