"""Registry of experiments: folders with a module `experiment`, each a command of `dph toy`."""

import importlib
from pathlib import Path
from typing import Any

from dph_theory.support.errors import argument_error, choice

# Folders with an experiment.
NAMES = tuple(sorted(path.parent.name for path in Path(__file__).parent.glob("*/experiment.py")))


class ToyExperiment:
    """Exports of a folder's `__init__`, loaded on demand; its docstring is the help text.

    `run(config, seed=, progress=)` computes the record, `tables(record)` the printed tables. OPTIONS names
    the command's options of `cli.OPTIONS` beside --json, --seed and --quick; FIGURES names the figures.
    """

    def __init__(self, name: str) -> None:
        choice("experiment", name, NAMES)
        self.package: Any = importlib.import_module(f"toy_lm.{name}")
        self.is_resumable = "folder" in self.package.OPTIONS  # Can finished runs be stored in a folder?
        self.name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self.package, name)

    @property
    def configuration(self) -> Any:
        """The class `NameConfig` of the folder `name`, which has a `quick` variant."""
        class_name = f"{self.name.title()}Config"
        if class_name not in vars(self.package) and class_name not in dir(self.package):
            allowed = f"a folder whose __init__ exports the class of its configuration, {class_name}"
            raise argument_error("experiment", self.name, allowed)
        return getattr(self.package, class_name)
