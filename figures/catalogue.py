"""Every figure by name; a module is imported when its figure is asked for."""

import importlib

from dph_theory.support.errors import choice

from .figure import Figure

NAMES = (
    "pretrained",
    "laws",
    "way_back",
    "budget_and_family",
    "lottery",
    "luck_or_time",
    "direction",
    "filtering",
    "mu_beta",
    "tilted_to_filtered",
    "implicit_bias",
    "forward_reverse_fits",
    "collapse",
    "pass_at_k",
    "styles",
    "sweeps",
    "keep_and_explore",
    "training_curves",
    "bounds",
    "what_your_kl_does",
    "what_your_advantage_weighs",
)
"""In the order of the report."""


def figure(name: str) -> Figure:
    """The figure of that name; ValueError says which there are."""
    choice("figure", name, NAMES)
    found: Figure = importlib.import_module(f"figures.gallery.{name}").FIGURE
    return found
