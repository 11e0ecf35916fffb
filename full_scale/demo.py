"""The whole pipeline on the built-in task: build, pre-sample, train, evaluate, validate; and two tables."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dph_theory.support.errors import argument_error
from dph_theory.support.files import write_json
from dph_theory.support.processes import run_jobs
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import as_json, from_json, read_record, record
from dph_theory.support.table import Table

from .evaluation.evaluated_run import EvaluatedSet, Evaluation
from .recipe.folders import Folders
from .recipe.schema import Recipe, load_recipe
from .stages import evaluate_stage, presample_stage, run_stages
from .storage.locks import locked
from .tasks.tiny_sql.model import Architecture
from .tasks.tiny_sql.task import Size, build
from .validation.table import (
    BASE,
    COLUMNS,
    Column,
    MethodDifference,
    columns,
    differences,
    reproduced,
    validate,
)
from .validation.verdicts import Line

KIND = "full_scale.demo"
COMPARED = ("GRPO", "RKL", "DPH-F", "DPH-JS")
"""Methods between which differences are measured."""
SEEDS = {"GRPO": 5, "RKL": 3, "DPH-F": 5, "DPH-JS": 5, "KL-control": 1}
"""Number of seeds of each method: several where two trained methods are compared, one where the stationary
policy is predicted."""
METHODS = {name: name.replace("KL-control", "KL-control-sequence") for name in SEEDS}
"""Each method's name in recipes."""
QUICK_SEEDS = 1
SMOKE_TEST = "This was a smoke test: every stage ran, but its three steps are too few to learn anything from."
SET = "in_domain"
"""Set shown in the tables: held-out questions to the databases seen in training."""
PACKAGES = ("torch", "transformers", "trl", "numpy")
# After training on 20 questions the model does worse on some of the others; after 40, on hardly any.
# The question is the sampling unit of every difference.
SIZE = Size(train=40, evaluation=32)
SETS = (SET, "rehearsed")
TRAINED_ON = "explored"
"""Set evaluated only at the first seed, on which stationary policies are predicted."""
# A toy length: every stage runs, but the results support no conclusion.
QUICK_SIZE = Size(domains=2, tables=1, train=3, evaluation=1, architecture=Architecture(steps=150, batch=32))
QUICK = (
    "train.max_steps=3",
    "train.collapse_every=1",
    "train.generation_batch_size=16",
    "train.per_device_train_batch_size=16",
    "method.rehearsal_rows=8",
    "presample.k=4",
    "presample.threshold=1",
    "presample.fresh=false",
    "evaluate.samples=4",
    "evaluate.k=[1, 2, 4]",
    "sampling.max_new_tokens=24",
)


@dataclass(frozen=True)
class DemoResults:
    """Results of the demo: base and methods on one set, their differences, and the theory's predictions."""

    set: str
    prompts: int
    methods: Mapping[str, Mapping[str, Column]]
    differences: tuple[MethodDifference, ...]
    checks: tuple[Line, ...]
    predictions: tuple[Line, ...]


@dataclass(frozen=True)
class Job:
    """One run of the demo: a method at a seed."""

    folder: Path
    name: str
    seed: int
    quick: bool

    def recipe(self) -> Recipe:
        """The packaged recipe with the demo's folder and the job's method and seed."""
        folder = self.folder
        places = (f"output={folder}", f"model.path={folder}/task/model", f"task.data={folder}/task")
        sets = ", ".join(SETS if self.seed else (*SETS, TRAINED_ON))
        method = (f"method.name={METHODS[self.name]}", f"name=tiny-sql-{self.name.lower()}")
        changes = (f"seed={self.seed}", f"evaluate.sets=[{sets}]", *(QUICK if self.quick else ()))
        return load_recipe("tiny-sql", (*places, *method, *changes))


def demo(
    folder: Path,
    *,
    quick: bool = False,
    seeds: int | None = None,
    workers: int | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Run or resume the demo in a folder, and return its record, which is also stored there as `demo.json`.

    Runs are parallel processes with one torch thread each, `workers` at a time (default: one per core).
    Finished stages are not repeated. `quick` runs a toy length. `seeds` replaces the number of seeds in SEEDS
    for each method in COMPARED.

    Raises:
        ValueError: If the folder contains a demo of another length.
        RefusedError: If another process is working in the folder.
    """
    with locked(folder):
        return _demo(folder, quick, seeds, workers, progress)


def _demo(
    folder: Path, quick: bool, seeds: int | None, workers: int | None, progress: Progress
) -> dict[str, Any]:
    counts = dict(SEEDS)
    if seeds or quick:
        counts |= dict.fromkeys(COMPARED, seeds or QUICK_SEEDS)
    _same_length(folder, quick)
    build(folder / "task", QUICK_SIZE if quick else SIZE, progress=progress)
    first = Job(folder, "GRPO", 0, quick).recipe()
    presample_stage(first, _named("pre-sampling", progress))
    evaluate_stage(first, _named("evaluating base", progress), base_only=True)
    # The longest runs start first, so that no core idles at the end.
    jobs = [Job(folder, name, seed, quick) for name in reversed(METHODS) for seed in range(counts[name])]
    progress("runs", 0, len(jobs))
    for done, _ in enumerate(run_jobs(_run, jobs, workers=workers, one_torch_thread=True), start=1):
        progress("runs", done, len(jobs))
    write_json(folder / "demo.json", _record(folder, jobs, quick))
    return read_record(folder / "demo.json", KIND, "dph demo")


def tables(result: Mapping[str, Any]) -> list[Table]:
    """Two tables: base and methods (mean and std over seeds), and the differences between methods."""
    results = from_json(DemoResults, result["results"])
    rows = [
        (name, str(len(values["Pass@1"].values)), *(_cell(values.get(column)) for column in COLUMNS))
        for name, values in results.methods.items()
    ]
    title = f"{results.set}, {results.prompts} prompts, means over seeds (standard deviations)"
    headers = ("measure", "methods", "difference", "margin", "expected", "found")
    return [
        Table.from_rows(("", "seeds", *COLUMNS), rows, title),
        Table.from_rows(headers, [gap.cells() for gap in results.differences], "differences"),
    ]


def _cell(value: Column | None) -> str:
    if value is None or value.mean is None:
        return "-"
    spread = "" if value.deviation is None else f" ({value.deviation:.3f})"
    return f"{value.mean:.3f}{spread}"


def _run(job: Job) -> None:
    """Train and evaluate one run in its own process."""
    run_stages(job.recipe())


def _named(words: str, progress: Progress) -> Progress:
    return lambda stage, done, total: progress(words, done, total)


def _same_length(folder: Path, quick: bool) -> None:
    """Raise an error if the folder has a demo of the other length (quick or full)."""
    path = folder / "length.json"
    if not path.is_file():
        write_json(path, {"quick": quick})
    stored = json.loads(path.read_text(encoding="utf-8"))
    if stored != {"quick": quick}:
        raise argument_error("folder", str(folder), f"it has a demo with {stored}; choose another folder")


def _record(folder: Path, jobs: Sequence[Job], quick: bool) -> dict[str, Any]:
    jobs = sorted(jobs, key=lambda job: (tuple(METHODS).index(job.name), job.seed))
    runs = {job: Folders.of_recipe(job.recipe()) for job in jobs}
    validation = validate([run.run_folder for run in runs.values()])
    write_json(folder / "validation.json", validation.as_record())
    evaluations = {BASE: [_evaluated(runs[jobs[0]].base())]}
    excess: dict[str, list[float]] = {BASE: [0.0]}
    measured = {(entry.run, entry.set): entry.excess for entry in validation.measured}
    for job, run in runs.items():
        evaluations.setdefault(job.name, []).append(_evaluated(run))
        excess.setdefault(job.name, []).append(measured[run.run, SET])
    demo_results = DemoResults(
        set=SET,
        prompts=len(evaluations[BASE][0].prompts),
        methods=columns(evaluations, excess),
        differences=tuple(differences({name: evaluations[name] for name in (BASE, *COMPARED)})),
        checks=validation.checks,
        predictions=validation.predictions,
    )
    stored = as_json(demo_results)
    for gap, stored_gap in zip(demo_results.differences, stored["differences"], strict=True):
        stored_gap["found"] = gap.sign
    checks, *_, predictions = validation.sentences()
    findings = [checks, reproduced(demo_results.differences), predictions]
    if quick:
        findings.insert(0, SMOKE_TEST)
    recipes = {job.name: job.recipe().as_dict() for job in jobs if not job.seed}
    config = {"quick": quick, "recipes": recipes}
    return record(KIND, seed=0, config=config, results=stored, findings=findings, packages=PACKAGES)


def _evaluated(run: Folders) -> EvaluatedSet:
    return Evaluation.read(run.evaluation).sets[SET]
