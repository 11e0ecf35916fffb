"""The experiment: every method from the same bases; finished runs are stored."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from dph_theory.numeric.arrays import positive, rate, whole
from dph_theory.support.errors import argument_error
from dph_theory.support.files import write_json
from dph_theory.support.processes import run_jobs
from dph_theory.support.progress import Progress
from dph_theory.support.record import as_json, checked, from_json, record

from ..threads import one_thread
from .evaluate import KS, at_the_end, on_the_way, yardstick
from .results import KIND, Base, StylesResults, Training, findings
from .samples import presample
from .tasks import StylesTask, make_task
from .train import ALPHA_DPG, KL_CONTROL, TRAINABLE, TrainingSettings, Variant, coefficient, pretrain, train
from .transformer import Transformer, exact_law, pass_rates

RUN_KIND = "toy.styles.run"


@dataclass(frozen=True)
class TrainingJob:
    """Everything that determines a training's numbers; it is measured after every `every` updates."""

    variant: Variant
    seed: int
    updates: int
    every: int
    settings: TrainingSettings

    @property
    def name(self) -> str:
        """A file name, unique among the jobs of an experiment."""
        return f"{self.variant.label} {self.updates} seed{self.seed}.json".replace(" ", "_")

    def config(self) -> dict[str, Any]:
        """The job as it is stored_run from a JSON file."""
        loaded: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return loaded


def run_all(
    jobs: Sequence[TrainingJob], *, workers: int, folder: Path | None, done: Callable[[TrainingJob], None]
) -> dict[TrainingJob, dict[str, Any]]:
    """The record of every job: read from the folder if it is there, else made, and stored once complete.

    `workers` processes; the numbers do not depend on how many. An interruption lets the runs under way finish
    if there is a folder to keep them. Raises ValueError if a stored run has another
    configuration or other versions than the job; nothing is overwritten.
    """
    records = {job: stored for job in jobs if folder and (stored := stored_run(folder / job.name, job))}
    for job in records:
        done(job)
    for job, made in _made([job for job in jobs if job not in records], workers, folder):
        records[job] = made
        done(job)
    return {job: records[job] for job in jobs}


def run_one(job: TrainingJob) -> dict[str, Any]:
    """Train, and measure exactly: the curve, the end, and the base beside it; a record of kind RUN_KIND."""
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
        RUN_KIND,
        seed=job.seed,
        config=job.config(),
        results=results,
        findings=(),
        packages=("numpy", "torch"),
    )


def stored_run(path: Path, job: TrainingJob) -> dict[str, Any] | None:
    """The stored record of a job, None if there is none; ValueError if it is another's."""
    if not path.exists():
        return None
    try:
        stored = checked(json.loads(path.read_text(encoding="utf-8")), RUN_KIND)
    except json.JSONDecodeError as error:
        raise argument_error("folder", str(path), f"a stored run must be JSON ({error})") from error
    wanted = record(
        RUN_KIND, seed=job.seed, config=job.config(), results={}, findings=(), packages=("numpy", "torch")
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


def _made(
    jobs: Sequence[TrainingJob], workers: int, folder: Path | None
) -> Iterator[tuple[TrainingJob, dict[str, Any]]]:
    if workers == 1 or len(jobs) < 2:
        yield from ((job, _make(job, folder)) for job in jobs)
        return
    make = partial(_make, folder=folder)
    yield from run_jobs(make, jobs, workers=workers, finish_begun=folder is not None)


def _make(job: TrainingJob, folder: Path | None) -> dict[str, Any]:
    made = run_one(job)
    if folder:
        write_json(folder / job.name, made)
    return made


@lru_cache(maxsize=1)
def _base(settings: TrainingSettings, seed: int) -> tuple[StylesTask, Transformer]:
    """All methods of a seed start from one base; jobs come seed by seed, so one at a time is kept."""
    task = make_task(seed)
    return task, pretrain(task, settings, seed=seed)


_ANCHORED = ("RKL", "DPH-F", "DPH-JS", "DPH-alpha", "reverse")
"""The methods whose anchors are compared at equal strength eta f''(1)."""

STAGE = "trainings"


@dataclass(frozen=True)
class Config:
    """What is trained, and how long; the defaults are the full experiment.

    `methods` start from `seeds` bases each, anchored ones at `strength` (GRPO at its published one), KL
    control at every target in `mus`, alpha-DPG at `alpha`. On the first base alone: anchored methods at
    `strengths`, anchors on all prompts at `place_strengths`, and `long_methods` for `long_updates`.
    Raises ValueError for unknown methods, numbers out of range, updates that do not fill whole rounds.
    """

    methods: tuple[str, ...] = tuple(TRAINABLE)
    seeds: int = 3
    updates: int = 240
    every: int = 12
    strength: float = 0.3
    mus: tuple[float, ...] = (0.5, 0.6)
    alpha: float = 0.5
    strengths: tuple[float, ...] = (0.03, 0.1, 1.0)
    place_strengths: tuple[float, ...] = (0.03, 0.3)
    long_methods: tuple[str, ...] = ("DAPO", "DPH-F", KL_CONTROL.name)
    long_updates: int = 480
    workers: int = 2
    settings: TrainingSettings = field(default_factory=TrainingSettings)

    @classmethod
    def quick(cls) -> "Config":
        """One base, without an anchor and with one, in a few seconds."""
        return cls(
            methods=("DAPO", "DPH-F"),
            seeds=1,
            updates=160,
            every=16,
            strengths=(),
            place_strengths=(),
            long_methods=(),
        )

    def __post_init__(self) -> None:
        for name in ("methods", "long_methods"):
            for method in getattr(self, name):
                if method not in TRAINABLE:
                    raise argument_error(name, method, f"some of {', '.join(TRAINABLE)}")
        if not self.methods:
            raise argument_error("methods", self.methods, f"at least one of {', '.join(TRAINABLE)}")
        for name in ("seeds", "updates", "every", "long_updates", "workers"):
            whole(name, getattr(self, name), at_least=1)
        for name in ("strength", "strengths", "place_strengths", "alpha"):
            positive(name, getattr(self, name))
        rate("mus", self.mus)
        size = self.settings.minibatches
        for name in ("updates", "every", "long_updates"):
            if getattr(self, name) % size:
                raise argument_error(name, getattr(self, name), f"whole rounds of {size} minibatches")

    def variants(self, method: str) -> list[Variant]:
        """The method as the comparison has it."""
        if method == KL_CONTROL.name:
            return [Variant(method, mu=mu) for mu in self.mus]
        if method == ALPHA_DPG.name:
            return [Variant(method, alpha=self.alpha)]
        return [Variant(method, strength=self.strength if method in _ANCHORED else None)]

    def jobs(self, seed: int) -> dict[str, list[TrainingJob]]:
        """All trainings by the question they answer; some answer several. Bases have seeds from `seed` on."""

        def job(variant: Variant, seed: int = seed, updates: int = self.updates) -> TrainingJob:
            return TrainingJob(variant, seed, updates, self.every, self.settings)

        anchored = [name for name in _ANCHORED if name in self.methods]
        placed = [name for name in anchored if name != "RKL"]
        main = [variant for name in self.methods for variant in self.variants(name)]
        strengths = sorted({self.strength, *self.strengths}) if self.strengths else []
        everywhere = [Variant(n, strength=s, place="all") for n in placed for s in self.place_strengths]
        here = [Variant(n, strength=s) for n in placed for s in self.place_strengths]
        long = [variant for name in self.long_methods for variant in self.variants(name)]
        return {
            "main": [job(variant, seed + i) for i in range(self.seeds) for variant in main],
            "strengths": [job(Variant(name, strength=s)) for name in anchored for s in strengths],
            "places": [job(variant) for variant in (*here, *everywhere)],
            "long": [job(variant, updates=self.long_updates) for variant in long],
        }


def run(
    config: Config, *, seed: int = 0, progress: Progress | None = None, folder: str | Path | None = None
) -> dict[str, Any]:
    """Train everything and return the record of kind KIND.

    `progress(STAGE, done, total)` is called as runs finish. With a folder, made if need be, finished runs are
    kept there and not redone. Same seed, same numbers, however many workers.
    Raises ValueError for a negative seed, and for a stored run with another configuration or other versions.
    """
    whole("seed", seed, at_least=0)
    groups = config.jobs(seed)
    # Seed by seed, so that a worker makes each base once.
    jobs = sorted(dict.fromkeys(job for group in groups.values() for job in group), key=lambda job: job.seed)
    finished: list[TrainingJob] = []

    def done(job: TrainingJob) -> None:
        finished.append(job)
        if progress is not None:
            progress(STAGE, len(finished), len(jobs))

    path = None if folder is None else Path(folder)
    if path is not None:
        path.mkdir(parents=True, exist_ok=True)
    records = run_all(jobs, workers=config.workers, folder=path, done=done)
    results = _results(groups, records)
    return record(
        KIND,
        seed=seed,
        config=asdict(config),
        results=as_json(results),
        findings=findings(results),
        packages=("numpy", "scipy", "torch"),
    )


def _results(
    groups: Mapping[str, Sequence[TrainingJob]], records: Mapping[TrainingJob, Mapping[str, Any]]
) -> StylesResults:
    """The bases, one a seed, and the runs, each with the questions it answers."""
    bases, runs = {}, []
    for job, stored in records.items():
        numbers = stored["results"]
        bases[job.seed] = from_json(Base, {"seed": job.seed, **numbers, **numbers["base"]})
        answers = [name for name, jobs in groups.items() if job in jobs]
        what = asdict(job.variant) | {"label": job.variant.label, "seed": job.seed, "updates": job.updates}
        curve = numbers["curve"]
        last = {name: curve[name][-1] for name in ("guarantee", "rehearsed_pass")}
        least = {"guarantee_margin": min(curve["guarantee_margin"])}
        runs.append(from_json(Training, what | numbers | numbers["end"] | last | least | {"groups": answers}))
    return StylesResults(k=KS, bases=tuple(bases.values()), runs=tuple(runs))
