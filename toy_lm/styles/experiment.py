"""The experiment: every method from the same bases, over strengths, places, lengths and seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dph_theory.numeric.arrays import positive, rate, whole
from dph_theory.support.errors import argument_error
from dph_theory.support.frozen import as_json, from_json
from dph_theory.support.progress import Progress
from dph_theory.support.record import record

from .evaluate import KS
from .findings import findings
from .results import KIND, Base, Results, Run
from .runs import Job, run_all
from .train import Settings
from .variants import ALPHA_DPG, KL_CONTROL, TRAINABLE, Variant

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
    settings: Settings = field(default_factory=Settings)

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

    def jobs(self, seed: int) -> dict[str, list[Job]]:
        """All trainings by the question they answer; some answer several. Bases have seeds from `seed` on."""

        def job(variant: Variant, seed: int = seed, updates: int = self.updates) -> Job:
            return Job(variant, seed, updates, self.every, self.settings)

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
    config: Config,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    folder: str | Path | None = None,
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
    finished: list[Job] = []

    def done(job: Job) -> None:
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


def _results(groups: Mapping[str, Sequence[Job]], records: Mapping[Job, Mapping[str, Any]]) -> Results:
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
        runs.append(from_json(Run, what | numbers | numbers["end"] | last | least | {"groups": answers}))
    return Results(k=KS, bases=tuple(bases.values()), runs=tuple(runs))
