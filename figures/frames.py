"""Stored records as data frames: a row per run or model, a column per fact."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dph_theory.intervals import mean_interval
from dph_theory.support.errors import argument_error
from dph_theory.support.record import stored_record
from dph_theory.support.table import Table
from toy_lm.experiments import NAMES as TOY
from toy_lm.styles.results import models

NUMBERS = Path(__file__).parent / "numbers"  # The committed numbers, from which drawings are made.
KINDS = {
    **{name: (f"toy_{name}", f"toy.{name}") for name in TOY},
    "demo": ("full_scale_demo", "full_scale.demo"),
    "laws": ("laws", "laws"),
    "pretrained": ("pretrained", "pretrained"),
    "audit": ("what_your_kl_does", "figure.what_your_kl_does"),
    "real_runs": ("real_runs", "real_runs"),
    "sql": ("sql", "sql"),
}
"""Records by name: the name of the file, and the kind."""
MADE_BY = {
    "full_scale_demo": "dph demo",
    "laws": "dph experiment small-llama --json {path}",
    "pretrained": "dph experiment pretrained --json {path}",
    "sql": "dph experiment sql --json {path}",
} | {f"toy_{name}": f"dph toy {name} --json {{path}}" for name in TOY}
"""Commands that make records, by the name of the file."""


def load(name: str, kind: str, folder: Path = NUMBERS) -> dict[str, Any]:
    """Load the stored record of that name and kind.

    Raises:
        ValueError: If the record does not exist (the message names the command that makes it), is no JSON,
            or is of another kind.
    """
    path = folder / f"{name}.json"
    if not path.is_file():
        made_by = MADE_BY.get(name.removesuffix("_quick"), "").format(path=path)
        raise ValueError(f"{path} does not exist" + (f". Run `{made_by}` first." if made_by else "."))
    return stored_record(path, kind)


def stored_name(name: str, quick: bool) -> str:
    """File name of a record, without its suffix."""
    return f"{KINDS[name][0]}{'_quick' if quick and name in TOY else ''}"


@dataclass(frozen=True)
class Records:
    """Records by name, read on demand from a folder, and from `else_from` if that folder has none.

    `quick` selects the records of reduced runs of the toy experiments.
    """

    folder: Path = NUMBERS
    quick: bool = False
    else_from: Path | None = None

    def record(self, name: str) -> Mapping[str, Any]:
        """Read a stored record; ValueError if it is missing or unreadable."""
        file = stored_name(name, self.quick)
        folder = self.folder
        if self.else_from is not None and not (folder / f"{file}.json").is_file():
            folder = self.else_from
        return load(file, KINDS[name][1], folder)

    def results(self, name: str) -> Any:
        """Results of a record."""
        return self.record(name)["results"]

    @cached_property
    def llama(self) -> "LlamaRuns":
        """Runs of `dph experiment small-llama`."""
        return LlamaRuns(self.record("laws"))

    @cached_property
    def styles(self) -> pd.DataFrame:
        """Models of the tiny transformer (`toy_lm.styles.results.models`)."""
        return models(self.results("styles"))


class LlamaRuns:
    """Trainings of a Llama under TRL, a row per run."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.runs = pd.DataFrame(record["results"]["runs"])

    def runs_of(self, *experiments: str) -> pd.DataFrame:
        """Runs of these experiments; ValueError names the command that makes missing runs."""
        chosen = self.runs[self.runs.experiment.isin(experiments)]
        if chosen.empty:
            makes = " and ".join(f"dph experiment small-llama --only {name}" for name in experiments)
            allowed = f"a record of such runs; {makes} makes them"
            raise argument_error("laws", f"no run of {', '.join(experiments)}", allowed)
        return chosen

    @property
    def judged(self) -> pd.DataFrame:
        """Runs that are meant to converge to a stationary policy, and are tested against it."""
        return self.runs[self.runs.judged.astype(bool)]


def means(values: Any, interval: Any = mean_interval) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over the first axis with its 95% interval, infinite for a single seed."""
    mean, low, high = (np.asarray(bound, dtype=float) for bound in interval(np.asarray(values, dtype=float)))
    return mean, low, high


def estimates(groups: Any, column: Any, interval: Any = mean_interval) -> pd.DataFrame:
    """One row per group, in order: a column's mean over its rows with its interval; nan without rows."""
    rows = {}
    for name, group in groups:
        values = group[column].dropna()
        rows[name] = [float(x) for x in means(values, interval)] if len(values) else [np.nan] * 3
    return pd.DataFrame.from_dict(rows, orient="index", columns=["mean", "low", "high"])


def tabled(frame: pd.DataFrame, names: Mapping[str, str] | None = None, **options: Any) -> Table:
    """Table of a frame, or of the columns that `names` renames; nan means unknown."""
    names = names or {str(column): str(column) for column in frame}
    shown = frame.set_axis(frame.columns.map(str), axis=1)[[*names]].astype(object)
    return Table.from_rows(names.values(), shown.where(shown.notna(), None).to_numpy().tolist(), **options)
