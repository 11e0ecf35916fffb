"""A base and runs on the same prompts, with the names that figures give them; runs of one name are seeds."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dph_theory.counts import Confrontation, confront, matched, read_counts
from dph_theory.support.errors import argument_error

_DRAWS = 1000
_TRAINING = "training.json"


@dataclass(frozen=True)
class Run:
    """A run held against the base: its label, its rate on each prompt, its training log if there is one."""

    label: str
    found: Confrontation
    rates: np.ndarray
    log: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Runs:
    """The runs, in the order given, and the base's rate on each prompt of the first of them."""

    base_rates: np.ndarray
    runs: tuple[Run, ...]

    @cached_property
    def by_label(self) -> dict[str, tuple[Run, ...]]:
        """The runs of each label."""
        labels = dict.fromkeys(run.label for run in self.runs)
        return {label: tuple(run for run in self.runs if run.label == label) for label in labels}

    @property
    def hashes(self) -> dict[str, str]:
        """The SHA-256 of each input file, by its name."""
        sources = [self.runs[0].found.base, *(run.found.run for run in self.runs)]
        return {source.name: source.sha256 for source in sources}


def read_runs(paths: Sequence[Path], labels: Path | None = None, prompts: str | None = None) -> Runs:
    """Read the base, which comes first, and the runs; files or folders as `read_counts` takes them.

    `labels` is a YAML file of labels by the name of a file or folder, else that name is the label. ValueError
    for fewer than two paths, files that cannot be read or paired, or a label of what is not there.
    """
    if len(paths) < 2:
        raise argument_error("runs", [str(path) for path in paths], "a base and at least one run")
    named = _labels(labels, {path.name for path in paths})
    base = read_counts(paths[0], prompts=prompts)
    runs: list[Run] = []
    for path in paths[1:]:
        counts = read_counts(path, prompts=prompts)
        both = matched(base, counts)
        found = confront(base, counts, both, draws=_DRAWS)
        rates = both.counts.run_c / both.counts.run_n
        runs.append(Run(named.get(path.name, path.stem), found, rates, _log(path)))
    return Runs(both.counts.base_c / both.counts.base_n, tuple(runs))


def _labels(path: Path | None, names: set[str]) -> dict[str, str]:
    if path is None:
        return {}
    import yaml

    try:
        read = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise argument_error("labels", str(path), f"YAML ({error})") from error
    if not isinstance(read, dict) or not all(isinstance(label, str) for label in read.values()):
        raise argument_error("labels", str(path), "a label by name of file or folder")
    unknown = [name for name in read if name not in names]
    if unknown:
        raise argument_error("labels", unknown[0], f"one of {', '.join(sorted(names))}")
    return read


def _log(path: Path) -> tuple[Mapping[str, Any], ...]:
    """The log of a folder that `dph train` wrote."""
    file = path / _TRAINING
    if not file.is_file():
        return ()
    return tuple(json.loads(file.read_text(encoding="utf-8"))["results"]["log"])
