"""The toy experiments as several figures share them: computed once, stored, read by every figure."""

import importlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from dph_theory.arrays import fail

from . import store

EXPERIMENTS = ("collapse", "strategies", "styles")
"""Packages of toy_lm with Config, run(config, seed=, progress=) and tables(record)."""


def stored_name(name: str, quick: bool) -> str:
    """The name under which an experiment's record is kept."""
    return f"toy_{name}{'_quick' if quick else ''}"


def run(
    name: str,
    *,
    seed: int = 0,
    quick: bool = False,
    folder: Path = store.NUMBERS,
    progress: Callable[[str, int, int], None] | None = None,
) -> dict[str, Any]:
    """Run an experiment of `toy_lm` and store its record."""
    if name not in EXPERIMENTS:
        raise fail("experiment", name, f"one of {', '.join(EXPERIMENTS)}")
    package = importlib.import_module(f"toy_lm.{name}")
    config = package.Config.quick() if quick else package.Config()
    made: dict[str, Any] = package.run(config, seed=seed, progress=progress)
    store.save(stored_name(name, quick), made, folder)
    experiment.cache_clear()
    return made


@cache
def experiment(name: str, quick: bool = False, folder: Path = store.NUMBERS) -> dict[str, Any]:
    """The stored record of an experiment; ValueError if it has not been run."""
    return store.load(stored_name(name, quick), f"toy.{name}", folder)
