"""The atlas's record: every method predicted, then trained, then told with the cells of theory."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from dph_theory.atlas.rows import atlas
from dph_theory.methods.repairs import REPAIRS, Repair
from dph_theory.support.errors import choice
from dph_theory.support.files import write_json
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import as_json, record
from dph_theory.support.table import Table

from .atlas_form import GROUPS, KNOB, LEARNING_RATE, STEPS, End, base_end, foreseen, runs_under_trl, trained
from .study import PACKAGES, Kept, quiet

KIND, SEEDS = "atlas", 3
SETTINGS = {"knob": KNOB, "steps": STEPS, "learning_rate": LEARNING_RATE, "groups": GROUPS}
BASE, PREDICTION, RUN = "base", "prediction", "run"


@dataclass(frozen=True)
class Trained:
    """One method's prediction and runs."""

    method: str
    predicted: End
    runs: tuple[End, ...]

    @property
    def gaps(self) -> tuple[float, ...]:
        """The total variation between the shares of each run and the prediction."""
        pairs = [zip(run.shares, self.predicted.shares, strict=True) for run in self.runs]
        return tuple(sum(abs(found - wanted) for found, wanted in pair) / 2 for pair in pairs)


def kept_in(folder: Path) -> Kept:
    """The rows of a folder: the base, predictions, and runs by method and seed."""
    return Kept(folder, {"kind": KIND, **SETTINGS})


def run_atlas(
    folder: Path,
    methods: Sequence[Repair] = REPAIRS,
    *,
    seeds: int = SEEDS,
    workers: int = 1,
    progress: Progress = silent,
) -> list[Trained]:
    """Predict every method that TRL can run, then train those that the folder lacks; what is done is kept."""
    kept, names = kept_in(folder), [method.name for method in methods if runs_under_trl(method)]
    # First, so that no two processes fit it.
    kept.settle(BASE, _conduct, {BASE: (BASE, None, kept.bases)})
    predictions = {name: (name, None, kept.bases) for name in names}
    kept.settle(PREDICTION, _conduct, predictions, workers=workers, progress=progress)
    runs = {f"{name} {seed}": (name, seed, kept.bases) for seed in range(seeds) for name in names}
    kept.settle(RUN, _conduct, runs, workers=workers, progress=progress)
    return trained_in(kept, methods, seeds)


def trained_in(kept: Kept, methods: Sequence[Repair], seeds: int) -> list[Trained]:
    """The methods whose prediction and runs are all there."""
    predicted, runs = kept.read(PREDICTION, End), kept.read(RUN, End)
    found = []
    for name in [method.name for method in methods]:
        ends = [runs.get(f"{name} {seed}") for seed in range(seeds)]
        if name in predicted and None not in ends:
            found.append(Trained(name, predicted[name], tuple(ends)))  # type: ignore[arg-type]
    return found


def _conduct(job: tuple[str, int | None, Path]) -> dict[str, Any]:
    quiet()
    name, seed, bases = job
    if name == BASE:
        return as_json(base_end(bases), 6)
    method = next(method for method in REPAIRS if method.name == name)
    return as_json(foreseen(method, bases) if seed is None else trained(method, bases, seed), 6)


def chosen(names: Sequence[str]) -> list[Repair]:
    """The methods of those names, all of none. Raises ValueError for another name."""
    known = {method.name: method for method in REPAIRS}
    for name in names:
        choice("only", name, known)
    return [known[name] for name in names] or list(REPAIRS)


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


def store(methods: Sequence[Repair], runs: Sequence[Trained], kept: Kept, seeds: int, path: Path) -> None:
    """Write the record that the figure and the guide read: the cells of theory, and the runs."""
    results = {
        "rows": as_json(atlas(methods), 4),
        "base": as_json(kept.read(BASE, End)[BASE], 5),
        "trained": [{**as_json(each, 5), "gaps": as_json(each.gaps, 4)} for each in runs],
    }
    config = {**SETTINGS, "seeds": seeds}
    write_json(path, record(KIND, seed=0, config=config, results=results, findings=(), packages=PACKAGES))
