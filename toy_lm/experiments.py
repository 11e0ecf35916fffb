"""The experiments by name."""

import importlib
from typing import Any

from dph_theory.support.errors import argument_error

EXPERIMENTS = ("collapse", "strategies", "styles")
"""Each is a package beside this file with Config, run(config, seed=, progress=) and tables(record)."""
RESUMABLE = "styles"
"""The experiment that keeps its finished runs in a folder, if it is given one."""


def experiment(name: str) -> Any:
    """The package of that experiment; ValueError says which there are."""
    if name not in EXPERIMENTS:
        raise argument_error("experiment", name, f"one of {', '.join(EXPERIMENTS)}")
    return importlib.import_module(f"toy_lm.{name}")
