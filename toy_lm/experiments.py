"""The experiments by name."""

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from dph_theory.support.errors import choice

EXPERIMENTS = {"collapse": "CollapseConfig", "strategies": "StrategiesConfig", "styles": "StylesConfig"}
"""Each is a package beside this file, with the class of its configuration, `run` and `tables`."""
FIGURES = {
    "collapse": ("collapse",),
    "strategies": ("pass_at_k", "sweeps", "training_curves", "kl_both_ways"),
    "styles": ("styles", "keep_and_explore", "pass_at_k", "sweeps"),
}
"""The figures that show the rest of an experiment's numbers."""
RESUMABLE = "styles"
"""The experiment that keeps its finished runs in a folder, if it is given one."""


class ToyExperiment(NamedTuple):
    """The class of the configuration, with a `quick` one; run(config, seed=, progress=); tables(record)."""

    configuration: Any
    run: Callable[..., dict[str, Any]]
    tables: Callable[[dict[str, Any]], Any]


def experiment(name: str) -> ToyExperiment:
    """The experiment of that name; ValueError says which there are."""
    choice("experiment", name, EXPERIMENTS)
    package = importlib.import_module(f"toy_lm.{name}")
    return ToyExperiment(getattr(package, EXPERIMENTS[name]), package.run, package.tables)
