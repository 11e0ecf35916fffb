"""Every figure by name; a module is imported when its figure is asked for."""

import importlib

from dph_theory.arrays import fail

from .figure import Figure

NAMES = (
    "mu_beta",
    "tilted_to_filtered",
)
"""In the order of the report."""


def figure(name: str) -> Figure:
    """The figure of that name; ValueError says which there are."""
    if name not in NAMES:
        raise fail("figure", name, f"one of {', '.join(NAMES)}")
    found: Figure = importlib.import_module(f"figures.{name}").FIGURE
    return found
