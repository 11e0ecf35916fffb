"""The styles experiment: every method from the same bases; finished runs are stored."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any

from dph_theory.numeric.arrays import integers
from dph_theory.support.errors import argument_error
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import as_json, record

from ..config import Count, Filled, Positive, Rate, check
from ..grid import Row, run_grid
from ..threads import one_thread
from .evaluate import KS, at_the_end, on_the_way, yardstick
from .results import KIND, findings
from .samples import presample
from .tasks import StylesTask, make_task
from .train import (
    ALPHA_DPG,
    KL_CONTROL,
    TRAINABLE,
    TrainingSettings,
    Variant,
    coefficient,
    pretrain,
    train,
    trainable,
)
from .transformer import Transformer, exact_distribution, pass_rates


@dataclass(frozen=True)
class TrainingJob:
    """Everything that determines a training's numbers; measurements follow every `every` updates."""

    variant: Variant
    seed: int
    updates: int
    every: int
    settings: TrainingSettings


def run_one(job: TrainingJob) -> Row:
    """Train one job; exact measures of the `base`, and of the `run` along its curve and at its end."""
    with one_thread():
        task, base = _base(job.settings, job.seed)
        reference = exact_distribution(base, task.prompts)
        sizes = {"presamples": job.settings.presamples, "stored": job.settings.stored}
        chosen, _ = presample(reference, task, **sizes, seed=job.seed)
        prompts = {"train": task.train, "held_out": task.held_out}
        measures = {name: yardstick(reference, task, rows) for name, rows in prompts.items()}
        on_rehearsed = yardstick(reference, task, chosen)
        curve = []
        updates = train(base, task, job.variant, job.settings, updates=job.updates, seed=job.seed)
        for update, policy in updates:
            if update % job.every == 0 or update == job.updates:
                curve.append({"update": update} | on_the_way(policy, measures["train"], on_rehearsed))
        rates = pass_rates(reference, task)[task.train].numpy()
    ends = (reference, policy)
    before, after = ({name: at_the_end(end, by) for name, by in measures.items()} for end in ends)
    what = asdict(job.variant) | {"coefficient": coefficient(job.variant.method(rates))}
    run = {
        **{name: value for name, value in what.items() if value is not None},
        "label": job.variant.label,
        "seed": job.seed,
        "updates": job.updates,
        "curve": {name: [point[name] for point in curve] for name in _CURVE},
        "guarantee": curve[-1]["guarantee"],
        "rehearsed_pass": curve[-1]["rehearsed_pass"],
        "guarantee_margin": min(point["guarantee_margin"] for point in curve),
    }
    return {"base": {"seed": job.seed} | before, "run": run | after}


_CURVE = ("update", "pass_at_8", "pass_at_16", "excess")


@lru_cache(maxsize=1)
def _base(settings: TrainingSettings, seed: int) -> tuple[StylesTask, Transformer]:
    """Task and pretrained base of a seed, cached: jobs are ordered by seed."""
    task = make_task(seed)
    return task, pretrain(task, settings, seed=seed)


_ANCHORED = ("RKL", "DPH-F", "DPH-JS", "DPH-alpha", "reverse")
"""Methods whose anchors are compared at equal strength eta f''(1)."""

STAGE = "trainings"


@dataclass(frozen=True)
class StylesConfig:
    """Methods and sizes of the experiment; the defaults are the full one.

    `methods` start from `seeds` bases each, anchored ones at `strength` (GRPO at its published one), KL
    control at every target in `mus`, alpha-DPG at `alpha`. Only on the first base: anchored methods at
    `strengths`, with anchors on the rehearsed and on all prompts. Raises ValueError for unknown methods,
    numbers out of range, updates that do not fill whole rounds.
    """

    methods: Annotated[tuple[str, ...], Filled] = tuple(TRAINABLE)
    seeds: Count = 3
    updates: Count = 240
    every: Count = 12
    strength: Positive = 0.3
    mus: tuple[Rate, ...] = (0.5, 0.6)
    alpha: Positive = 0.5
    strengths: tuple[Positive, ...] = (0.03, 0.3)
    workers: Count = 2
    settings: TrainingSettings = field(default_factory=TrainingSettings)

    @classmethod
    def quick(cls) -> "StylesConfig":
        """Configuration of seconds: one base, trained with rehearsal and without."""
        return cls(methods=("DAPO", "DPH-F"), seeds=1, updates=160, every=16, strengths=())

    def __post_init__(self) -> None:
        for method in self.methods:
            trainable(method)
        check(self)
        size = self.settings.minibatches
        for name in ("updates", "every"):
            if getattr(self, name) % size:
                raise argument_error(name, getattr(self, name), f"whole rounds of {size} minibatches")

    def variants(self, method: str) -> list[Variant]:
        """Variants of the method in the comparison."""
        if method == KL_CONTROL.name:
            return [Variant(method, mu=mu) for mu in self.mus]
        if method == ALPHA_DPG.name:
            return [Variant(method, alpha=self.alpha)]
        return [Variant(method, strength=self.strength if method in _ANCHORED else None)]

    def jobs(self, seed: int) -> dict[str, list[TrainingJob]]:
        """Trainings listed under each question that they answer; bases have seeds `seed`, `seed` + 1, ..."""

        def job(variant: Variant, seed: int = seed) -> TrainingJob:
            return TrainingJob(variant, seed, self.updates, self.every, self.settings)

        placed = [name for name in _ANCHORED if name in self.methods and name != "RKL"]
        main = [variant for name in self.methods for variant in self.variants(name)]
        everywhere = [Variant(n, strength=s, place="all") for n in placed for s in self.strengths]
        rehearsed = [Variant(n, strength=s) for n in placed for s in self.strengths]
        return {
            "main": [job(variant, seed + i) for i in range(self.seeds) for variant in main],
            "places": [job(variant) for variant in (*rehearsed, *everywhere)],
        }


def run(
    config: StylesConfig, *, seed: int = 0, progress: Progress = silent, folder: str | Path | None = None
) -> dict[str, Any]:
    """Train everything and return the record of kind KIND.

    `progress(STAGE, done, total)` is called as runs finish. With a folder, created if necessary, finished
    runs are stored there and not repeated. A seed gives the same numbers with any number of workers. Raises
    ValueError for a negative seed, and for a file in the folder that is not a run.
    """
    integers("seed", seed, at_least=0)
    groups = config.jobs(seed)
    # Seed by seed, so that a worker builds each base once.
    jobs = sorted(dict.fromkeys(job for group in groups.values() for job in group), key=lambda job: job.seed)
    store, done = None if folder is None else Path(folder), partial(progress, STAGE)
    rows = run_grid(run_one, jobs, done=done, workers=config.workers, folder=store)
    results = _results(groups, dict(zip(jobs, rows, strict=True)))
    settings, sentences, packages = asdict(config), findings(results), ("numpy", "scipy", "torch")
    return record(KIND, seed=seed, config=settings, results=results, findings=sentences, packages=packages)


def _results(groups: Mapping[str, Sequence[TrainingJob]], rows: Mapping[TrainingJob, Row]) -> Row:
    bases, runs = {job.seed: row["base"] for job, row in rows.items()}, []
    for job, row in rows.items():
        runs.append(row["run"] | {"groups": [name for name, jobs in groups.items() if job in jobs]})
    stored: Row = as_json({"k": KS, "bases": [*bases.values()], "runs": runs})
    return stored
