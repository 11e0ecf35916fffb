"""Runs: a training measured from start to end, and many of them, stored as they finish."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from dph_theory.support.errors import argument_error
from dph_theory.support.files import write_json
from dph_theory.support.processes import run_jobs
from dph_theory.support.record import checked, record

from ..threads import one_thread
from .evaluate import at_the_end, on_the_way, yardstick
from .samples import presample
from .tasks import Task, make_task
from .train import Settings, pretrain, train
from .transformer import Transformer, exact_law, pass_rates
from .variants import Variant, coefficient

KIND = "toy.styles.run"


@dataclass(frozen=True)
class Job:
    """Everything that determines a training's numbers; it is measured after every `every` updates."""

    variant: Variant
    seed: int
    updates: int
    every: int
    settings: Settings

    @property
    def name(self) -> str:
        """A file name, unique among the jobs of an experiment."""
        return f"{self.variant.label} {self.updates} seed{self.seed}.json".replace(" ", "_")

    def config(self) -> dict[str, Any]:
        """The job as it is read from a JSON file."""
        loaded: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return loaded


def run_all(
    jobs: Sequence[Job], *, workers: int, folder: Path | None, done: Callable[[Job], None]
) -> dict[Job, dict[str, Any]]:
    """The record of every job: read from the folder if it is there, else made, and stored once complete.

    `workers` processes; the numbers do not depend on how many. An interruption lets the runs under way finish
    if there is a folder to keep them. Raises ValueError if a stored run has another
    configuration or other versions than the job; nothing is overwritten.
    """
    records = {job: stored for job in jobs if folder and (stored := read(folder / job.name, job))}
    for job in records:
        done(job)
    for job, made in _made([job for job in jobs if job not in records], workers, folder):
        records[job] = made
        done(job)
    return {job: records[job] for job in jobs}


def run_one(job: Job) -> dict[str, Any]:
    """Train, and measure exactly: the curve, the end, and the base beside it; a record of kind KIND."""
    with one_thread():
        task, base = _base(job.settings, job.seed)
        reference = exact_law(base, task.prompts)
        rehearsed = presample(
            reference, task, presamples=job.settings.presamples, stored=job.settings.stored, seed=job.seed
        )
        splits = {"train": task.train, "held_out": task.held_out}
        measures = {name: yardstick(reference, task, prompts) for name, prompts in splits.items()}
        kept = yardstick(reference, task, rehearsed.prompts)
        rates = pass_rates(reference, task)[task.train].numpy()
        curve = []
        for update, law, samples in train(
            base, task, job.variant, job.settings, updates=job.updates, seed=job.seed
        ):
            if update % job.every == 0 or update == job.updates:
                point = on_the_way(law, samples, measures["train"], kept)
                curve.append({"update": update} | point)
        results = {
            "coefficient": coefficient(job.variant.method(rates)),
            "rehearsed_prompts": len(rehearsed.prompts),
            "rehearsed_samples": len(rehearsed.samples.valid),
            "curve": {name: [point[name] for point in curve] for name in curve[0]},
            "base": {name: at_the_end(reference, by) for name, by in measures.items()},
            "end": {name: at_the_end(law, by) for name, by in measures.items()},
        }
    return record(
        KIND, seed=job.seed, config=job.config(), results=results, findings=(), packages=("numpy", "torch")
    )


def read(path: Path, job: Job) -> dict[str, Any] | None:
    """The stored record of a job, None if there is none; ValueError if it is another's."""
    if not path.exists():
        return None
    try:
        stored = checked(json.loads(path.read_text(encoding="utf-8")), KIND)
    except json.JSONDecodeError as error:
        raise argument_error("folder", str(path), f"a stored run must be JSON ({error})") from error
    wanted = record(
        KIND, seed=job.seed, config=job.config(), results={}, findings=(), packages=("numpy", "torch")
    )
    for part in ("config", "versions"):
        different = list(_differences(part, stored[part], wanted[part]))
        if different:
            raise argument_error("folder", str(path), f"it holds another run: {'; '.join(different)}")
    return stored


def _differences(name: str, stored: Any, wanted: Any) -> Iterator[str]:
    if isinstance(stored, Mapping) and isinstance(wanted, Mapping):
        for key in sorted({*stored, *wanted}):
            yield from _differences(f"{name}.{key}", stored.get(key), wanted.get(key))
    elif stored != wanted:
        yield f"{name} is {stored!r} there and {wanted!r} here"


def _made(jobs: Sequence[Job], workers: int, folder: Path | None) -> Iterator[tuple[Job, dict[str, Any]]]:
    if workers == 1 or len(jobs) < 2:
        yield from ((job, _make(job, folder)) for job in jobs)
        return
    make = partial(_make, folder=folder)
    yield from run_jobs(make, jobs, workers=workers, finish_begun=folder is not None)


def _make(job: Job, folder: Path | None) -> dict[str, Any]:
    made = run_one(job)
    if folder:
        write_json(folder / job.name, made)
    return made


@lru_cache(maxsize=1)
def _base(settings: Settings, seed: int) -> tuple[Task, Transformer]:
    """All methods of a seed start from one base; jobs come seed by seed, so one at a time is kept."""
    task = make_task(seed)
    return task, pretrain(task, settings, seed=seed)
