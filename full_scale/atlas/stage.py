"""The atlas's record: every method predicted, then trained, then told with the cells of theory."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from dph_theory.atlas.rows import atlas
from dph_theory.methods.repairs import METHODS, Method
from dph_theory.support.errors import choice
from dph_theory.support.files import write_json
from dph_theory.support.processes import run_jobs
from dph_theory.support.progress import Progress
from dph_theory.support.record import as_json, record
from dph_theory.support.table import Table

from ..laws.study import PACKAGES, quiet
from ..storage.journal import Journal
from .training import (
    GROUPS,
    KNOB,
    LEARNING_RATE,
    STEPS,
    atlas_box,
    base_shares,
    foreseen,
    runs_under_trl,
    trained,
)

KIND, SEEDS = "atlas", 3


@dataclass(frozen=True)
class End:
    """Where a training ends: the pass rate, and each right answer's share of it."""

    validity: float
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Trained:
    """One method's prediction and runs; None where TRL does not have the method's loss."""

    method: str
    predicted: End
    runs: tuple[End, ...]

    @property
    def gaps(self) -> tuple[float, ...]:
        """The total variation between the shares of each run and the prediction."""
        return tuple(_gap(run, self.predicted) for run in self.runs)


def _gap(one: End, other: End) -> float:
    pairs = zip(one.shares, other.shares, strict=True)
    return sum(abs(found - wanted) for found, wanted in pairs) / 2


class AtlasJournal:
    """The folder of a record: a line a prediction or a run, and the base."""

    def __init__(self, folder: Path) -> None:
        settings = {"knob": KNOB, "steps": STEPS, "learning_rate": LEARNING_RATE, "groups": GROUPS}
        self.bases = folder / "bases"
        self.journal = Journal(folder / "journal.jsonl", {"kind": KIND, **settings})
        self.found: dict[tuple[str, int | None], End] = {}
        for entry in self.journal.entries:
            self._keep(entry)

    def _keep(self, entry: dict[str, Any]) -> None:
        self.found[entry["method"], entry["seed"]] = End(entry["validity"], tuple(entry["shares"]))

    def add(self, method: str, seed: int | None, end: End) -> None:
        """Write down a prediction (seed None) or a run."""
        entry = {"method": method, "seed": seed, **as_json(end, 6)}
        self.journal.append(entry)
        self._keep(entry)

    def trained(self, methods: Sequence[Method], seeds: int) -> list[Trained]:
        """The methods whose prediction and runs are all there."""
        wanted = [(m.name, [self.found.get((m.name, s)) for s in (None, *range(seeds))]) for m in methods]
        return [Trained(name, ends[0], tuple(ends[1:])) for name, ends in wanted if None not in ends]  # type: ignore[arg-type]


def run_atlas(
    folder: Path,
    methods: Sequence[Method] = METHODS,
    *,
    seeds: int = SEEDS,
    workers: int = 1,
    progress: Progress | None = None,
) -> list[Trained]:
    """Predict every method that TRL can run, then train those that the folder lacks; what is done is kept."""
    kept = AtlasJournal(folder)
    quiet()
    base_shares(atlas_box(), kept.bases)
    names = [method.name for method in methods if runs_under_trl(method)]
    for stage, jobs in (
        ("predictions", [(name, None) for name in names]),
        ("runs", [(name, seed) for seed in range(seeds) for name in names]),
    ):
        missing = [(name, seed, kept.bases) for name, seed in jobs if (name, seed) not in kept.found]
        for done, (job, end) in enumerate(
            run_jobs(_conduct, missing, workers=workers, one_torch_thread=True), 1
        ):
            kept.add(job[0], job[1], end)
            if progress is not None:
                progress(stage, done, len(missing))
    return kept.trained(methods, seeds)


def _conduct(job: tuple[str, int | None, Path]) -> End:
    name, seed, bases = job
    quiet()
    method = next(method for method in METHODS if method.name == name)
    box = atlas_box()
    found = foreseen(method, box, bases) if seed is None else trained(method, box, bases, seed)
    return End(found[0], tuple(found[1]))


def chosen(names: Sequence[str]) -> list[Method]:
    """The methods of those names, all of none. Raises ValueError for another name."""
    known = {method.name: method for method in METHODS}
    for name in names:
        choice("only", name, known)
    return [known[name] for name in names] or list(METHODS)


def table(runs: Sequence[Trained]) -> Table:
    """A row a method: the pass rate and the short answer's share, predicted and measured, and the gap."""
    rows = [
        (
            each.method,
            each.predicted.validity,
            fmean(run.validity for run in each.runs),
            each.predicted.shares[-1],
            fmean(run.shares[-1] for run in each.runs),
            max(each.gaps),
        )
        for each in runs
    ]
    head = ("method", "V, predicted", "V, runs", "short, predicted", "short, runs", "largest gap of shares")
    return Table.of(head, rows)


def store(
    methods: Sequence[Method], runs: Sequence[Trained], folder: Path, path: Path, seeds: int = SEEDS
) -> None:
    """Write the record that the figure and the guide read: the cells of theory, and the runs."""
    rows = atlas(methods)
    base = base_shares(atlas_box(), AtlasJournal(folder).bases)
    results = {
        "rows": as_json(rows, 4),
        "base": as_json(End(base[0], tuple(base[1])), 5),
        "trained": [{**as_json(each, 5), "gaps": as_json(each.gaps, 4)} for each in runs],
    }
    config = {"knob": KNOB, "steps": STEPS, "learning_rate": LEARNING_RATE, "groups": GROUPS, "seeds": seeds}
    write_json(path, record(KIND, seed=0, config=config, results=results, findings=(), packages=PACKAGES))
