"""The experiments: folders beside this file with a module `experiment`, each a command of `dph toy`."""

import importlib
from pathlib import Path
from typing import Any

from dph_theory.support.errors import choice

NAMES = tuple(sorted(path.parent.name for path in Path(__file__).parent.glob("*/experiment.py")))
"""The folders found."""


class ToyExperiment:
    """What a folder's `__init__` exports, its modules loaded when they are used; its docstring is the help.

    `run(config, seed=, progress=)` makes the record, `tables(record)` what is printed. OPTIONS are the
    command's beside --json, --seed and --quick, of those in `cli.OPTIONS`; FIGURES show the rest.
    """

    def __init__(self, name: str) -> None:
        choice("experiment", name, NAMES)
        self.package: Any = importlib.import_module(f"toy_lm.{name}")
        self.is_resumable = "folder" in self.package.OPTIONS
        """Whether it stores its finished runs in a folder, if it is given one."""
        self.name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self.package, name)

    @property
    def configuration(self) -> Any:
        """The class `NameConfig` of the folder `name`, with a `quick` one."""
        return getattr(self.package, f"{self.name.title()}Config")
