"""The toy experiments: run, and their records stored."""

import importlib
from pathlib import Path
from typing import Any

from dph_theory.support.errors import argument_error
from dph_theory.support.frozen import as_json
from dph_theory.support.progress import Progress

from . import store
from .records import EXPERIMENTS, stored_name

RESUMABLE = "styles"
"""The experiment that keeps its finished runs in a folder, if it is given one."""
DIGITS = 10
"""Significant digits of the numbers that are stored."""


def run(
    name: str,
    *,
    seed: int = 0,
    quick: bool = False,
    folder: Path = store.NUMBERS,
    progress: Progress | None = None,
    resume: Path | None = None,
) -> dict[str, Any]:
    """Run an experiment of `toy_lm` and store its record.

    With `resume`, a folder, the experiment that is RESUMABLE takes up the finished runs that lie there.
    """
    if name not in EXPERIMENTS:
        raise argument_error("experiment", name, f"one of {', '.join(EXPERIMENTS)}")
    package = importlib.import_module(f"toy_lm.{name}")
    config = package.Config.quick() if quick else package.Config()
    options = {"folder": resume} if resume is not None and name == RESUMABLE else {}
    made: dict[str, Any] = package.run(config, seed=seed, progress=progress, **options)
    store.save(stored_name(name, quick), as_json(made, DIGITS), folder)
    return made
