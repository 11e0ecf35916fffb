"""The record of the pretrained Llama: predictions settled first, then the runs, and what came of both."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from dph_theory.support.errors import choice
from dph_theory.support.progress import Progress, silent

from ...models.load import model_hash
from ..stored_runs import RunStore, StudyOptions, StudyReport
from . import advantages, anchors, findings, methods, models, noise, retention, stationary, transfer
from .losses import STORED
from .open_prompts import LikeliestTokens, likeliest_tokens, open_prompts
from .runs import GROUP, MEASURED, FinishedOpenRun, OpenRun, Outcomes
from .training import pretrained_llama, train_on_samples

EXPERIMENTS: Mapping[str, tuple[Callable[[], list[OpenRun]], str]] = {
    "stationary": (stationary.declared, "Where does each form of the KL end, without noise?"),
    "trl": (stationary.runs_under_trl, "And under TRL's own trainer, on samples?"),
    "noise": (noise.declared, "Without a KL, how far does noise drive right answers apart?"),
    "methods": (methods.declared, "Which method retains Pass@k, on what it trained and on what it did not?"),
    "anchors": (anchors.declared, "Do a few prompts held at the base hold the others, whichever they are?"),
    "advantages": (advantages.declared, "What are advantages to be divided by?"),
    "retention": (retention.declared, "And with other groups, KLs, tasks, models, and weights from counts?"),
    "transfer": (transfer.declared, "And other prompts and optimisers, as the kernel of the base predicts?"),
    "models": (models.declared, "And other models, which the forecast was never tried on?"),
}  # fmt: skip
"""By name the runs that are declared, whatever came out, and their question."""


def run_study(options: StudyOptions, path: str, *, progress: Progress = silent) -> StudyReport:
    """Run what is declared and not finished, unless it is to be listed, and report what came of it."""
    runs = quick_runs() if options.quick else declared_runs(options.only, options.seeds)
    identity = {"kind": findings.KIND, "model": model_hash(path), "group": GROUP, "stored": STORED}
    store = RunStore(options.folder / findings.KIND, identity)
    if options.packed is not None:
        store.adopt(options.packed)
    if not options.listed:
        fill(store, path, runs, workers=options.workers, progress=progress)
    report = findings.Findings.read(store, [run.id for run in runs])
    if options.json_path is not None:
        findings.write_numbers(options.json_path, path, store, report)
    if options.pack is not None:
        store.pack(options.pack)
    done = runs_done(runs, report.outcomes) if options.listed else []
    return StudyReport(report.tables, [*done, *report.sentences])


def declared_runs(only: str | None = None, seeds: int | None = None) -> list[OpenRun]:
    """The runs of all experiments, or of one, with at most so many seeds; declared whatever came out."""
    if only is not None:
        choice("only", only, EXPERIMENTS)
    runs = [run for name, (declared, _) in EXPERIMENTS.items() if only in (None, name) for run in declared()]
    return [run for run in runs if run.seed is None or seeds is None or run.seed < seeds]


def quick_runs() -> list[OpenRun]:
    """Two prompts to two stationary policies, and a few steps without a KL and with one."""
    first = stationary.declared()[0]
    short = replace(first, tasks=first.tasks[:2], coefficient=0.5, steps=40, learning_rate=3e-5)
    few = [replace(run, seed=0, steps=8) for run in (methods.FREE, methods.setting("GRPO", "k3", 0.3))]
    return [*(replace(short, kl=kl) for kl in ("reward", "k3")), *few]


def fill(
    store: RunStore, path: str, runs: Sequence[OpenRun], *, workers: int = 1, progress: Progress = silent
) -> None:
    """Run what is not finished; all predictions are stored before the first run starts."""
    for claim in findings.CLAIMS:
        if store.missing(findings.CLAIM, [claim.name]):
            row = {"says": claim.says, "rival": claim.rival, "band": claim.band}
            store.write(findings.CLAIM, claim.name, row)
    store.fill(findings.TOKENS, base_tokens, {task: (path, task) for task in MEASURED}, progress=progress)
    predictable = {run.id: (path, run) for run in runs if run.experiment in ("stationary", "trl")}
    store.fill(findings.END, stationary.predicted_ends, predictable, progress=progress)
    noisy = {run.tasks[0]: (path, run) for run in runs if run.experiment == "noise"}
    store.fill(findings.NOISE, noise.noise_forecast, noisy, progress=progress)
    folder = store.journal.path.parent
    paths = models.paths(path, runs, store.bases)
    coupled = {
        run.id: (paths[run.model], run, folder)
        for run in runs
        if run.experiment in ("methods", "anchors", "transfer", "models")
    }
    # A kernel a base: measured by one process, and then there for all.
    kernels = {transfer.KernelSettings.of_run(job[1]).digest: job for job in coupled.values()}
    store.fill(findings.KERNEL, transfer.kernel_summary, kernels, progress=progress)
    store.fill(findings.FORECAST, transfer.forecast, coupled, progress=progress)
    forecasts = store.read(findings.FORECAST, transfer.TransferForecast, coupled)
    pinned = {name: forecast.anchors for name, forecast in forecasts.items()}
    by_adam = {
        name: (*job, pinned[name])
        for name, job in coupled.items()
        if job[1].experiment == "models" and len(job[1].tasks) == 1
    }
    store.fill(findings.ADAM_FORECAST, transfer.adam_forecast, by_adam, progress=progress)
    jobs = {run.id: (paths[run.model], run, pinned.get(run.id) or anchors.by_lot(run)) for run in runs}
    store.fill(findings.RUN, conduct, jobs, workers=workers, progress=progress)
    finished = store.read(findings.RUN, FinishedOpenRun, coupled)
    after = {
        name: (paths[outcome.run.model], outcome, forecasts[name], folder)
        for name, outcome in finished.items()
    }
    store.fill(findings.INTERPOLATION, transfer.interpolation, after, progress=progress)


def runs_done(runs: Sequence[OpenRun], outcomes: Outcomes) -> list[str]:
    """How many runs of each experiment are done, and what it asks."""
    declared = Counter(run.experiment for run in runs)
    done = Counter(outcome.run.experiment for outcome in outcomes)
    return [f"{name}: {done[name]} of {n} runs done. {EXPERIMENTS[name][1]}" for name, n in declared.items()]


def base_tokens(path: str, name: str) -> LikeliestTokens:
    """How the base goes on after the first text of a task that is measured."""
    llama = pretrained_llama(path)
    base = llama.base(llama.reading(MEASURED))[name]
    return likeliest_tokens(base, llama.tokenizer, open_prompts(name))


def conduct(path: str, run: OpenRun, pinned: tuple[int, ...] = ()) -> FinishedOpenRun:
    """A run of any kind, from the model of the path, with the texts that it holds at the base."""
    if run.trainer == "trl":
        return stationary.train_under_trl(path, run)
    if run.seed is None:
        return stationary.train_in_expectation(path, run)
    if run.baseline is not None:
        return noise.train_with_baseline(path, run)
    return train_on_samples(path, run, pinned)
