"""The experiments by name."""

import importlib
from typing import Any

from dph_theory.support.errors import choice

EXPERIMENTS = ("collapse", "strategies", "styles")
"""Each is a package beside this file with Config, run(config, seed=, progress=) and tables(record)."""
FIGURES = {
    "collapse": ("collapse",),
    "strategies": ("pass_at_k", "sweeps", "training_curves", "kl_both_ways"),
    "styles": ("styles", "keep_and_explore", "pass_at_k", "sweeps"),
}
"""The figures that show the rest of an experiment's numbers."""
RESUMABLE = "styles"
"""The experiment that keeps its finished runs in a folder, if it is given one."""


def experiment(name: str) -> Any:
    """The package of that experiment; ValueError says which there are."""
    choice("experiment", name, EXPERIMENTS)
    return importlib.import_module(f"toy_lm.{name}")
