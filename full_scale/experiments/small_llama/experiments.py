"""Experiments of the record with their runs, as declared in `experiments.yaml`."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from .runs import LlamaRun

TABLE = Path(__file__).with_name("experiments.yaml")


@dataclass(frozen=True)
class Experiment:
    """An experiment: its question, and the runs of seed 0 that answer it, with their numbers of seeds."""

    name: str
    question: str
    settings: tuple[tuple[int, LlamaRun], ...]
    seeds: int
    to_the_end: bool  # Are its runs meant to converge? Others observe the path.

    def runs(self, seed: int) -> list[LlamaRun]:
        """Runs of that seed, without settings that have fewer seeds."""
        return [replace(run, seed=seed) for seeds, run in self.settings if seed < seeds]


@cache
def experiments() -> dict[str, Experiment]:
    """All experiments by name."""
    return {name: _experiment(name, **entry) for name, entry in yaml.safe_load(TABLE.read_text()).items()}


def _experiment(
    name: str,
    question: str,
    runs: Any,
    all: Mapping[str, Any] | None = None,
    seeds: int = 3,
    to_the_end: bool = True,
) -> Experiment:
    settings = [
        (entry.get("seeds", seeds), LlamaRun(name, **fields))
        for entry in runs
        for fields in grid({**(all or {}), **entry})
    ]
    return Experiment(name, question, tuple(dict.fromkeys(settings)), seeds, to_the_end)


def grid(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the fields of each run of an entry of the table: a list is an axis, the first the outermost.

    A mapping on an axis stands for its fields and overrides earlier fields of the same names; a list inside
    it is a tuple. The key `seeds` is no field.
    """
    axes = [
        [
            value if isinstance(value, dict) else {name: value}
            for value in (values if isinstance(values, list) else [values])
        ]
        for name, values in entry.items()
        if name != "seeds"
    ]
    for chosen in itertools.product(*axes):
        fields = {name: value for part in chosen for name, value in part.items()}
        yield {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def record_runs() -> list[LlamaRun]:
    """All runs of the record: the first seed of every experiment, then the others."""
    declared = experiments().values()
    most = max(experiment.seeds for experiment in declared)
    return [run for seed in range(most) for experiment in declared for run in experiment.runs(seed)]


def quick_runs() -> list[LlamaRun]:
    """Short runs: three forms of the penalty at one beta, and one run without a KL."""
    drift = replace(experiments()["drift"].runs(0)[0], experiment="quick")
    first = experiments()["which_policy"].runs(0)
    penalties = [run for run in first if (run.task, run.beta) == ("selection-2", 0.2)]
    return [*(replace(run, experiment="quick") for run in penalties[:3]), drift]
