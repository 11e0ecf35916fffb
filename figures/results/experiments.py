"""The toy experiments: run, and their records stored."""

from pathlib import Path
from typing import Any

from dph_theory.support.frozen import as_json
from dph_theory.support.progress import Progress
from toy_lm.experiments import RESUMABLE, experiment

from . import store
from .records import stored_name

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
    package = experiment(name)
    config = package.Config.quick() if quick else package.Config()
    options = {"folder": resume} if resume is not None and name == RESUMABLE else {}
    made: dict[str, Any] = package.run(config, seed=seed, progress=progress, **options)
    store.save(stored_name(name, quick), as_json(made, DIGITS), folder)
    return made
