"""The experiments: folders beside this file with a module `experiment`, each a command of `dph toy`."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dph_theory.support.errors import choice

NAMES = tuple(sorted(path.parent.name for path in Path(__file__).parent.glob("*/experiment.py")))
"""The folders found."""


@dataclass(frozen=True)
class ToyExperiment:
    """A folder, whose docstring is the command's help, and what its `__init__` exports.

    OPTIONS are the command's beside --json, --seed and --quick, of those in `cli.OPTIONS`; FIGURES show the
    rest of its numbers.
    """

    package: Any

    @property
    def name(self) -> str:
        """The folder's name."""
        name: str = self.package.__name__
        return name.rpartition(".")[2]

    @property
    def configuration(self) -> Any:
        """The class `NameConfig` of the folder `name`, with a `quick` one."""
        return getattr(self.package, f"{self.name.title().replace('_', '')}Config")

    @property
    def run(self) -> Callable[..., dict[str, Any]]:
        """Of (config, seed=, progress=) the record; also of `folder=`, `problem=` where these are options."""
        run: Callable[..., dict[str, Any]] = self.package.run
        return run

    @property
    def tables(self) -> Callable[[dict[str, Any]], Any]:
        """Of a record the tables that are printed."""
        tables: Callable[[dict[str, Any]], Any] = self.package.tables
        return tables

    @property
    def is_resumable(self) -> bool:
        """Whether it stores its finished runs in a folder, if it is given one."""
        return "folder" in self.package.OPTIONS


def experiment(name: str) -> ToyExperiment:
    """The experiment of that name, its modules not loaded yet; ValueError says which there are."""
    choice("experiment", name, NAMES)
    return ToyExperiment(importlib.import_module(f"toy_lm.{name}"))
