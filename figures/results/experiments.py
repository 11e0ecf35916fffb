"""The records that figures read: the toy experiments, run and stored here, and runs of `full_scale`."""

import importlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dph_theory.support.errors import argument_error
from dph_theory.support.progress import Progress

from . import store

Record = Mapping[str, Any]

EXPERIMENTS = ("collapse", "strategies", "styles")
"""Packages of toy_lm with Config, run(config, seed=, progress=) and tables(record)."""
RESUMABLE = "styles"
"""The experiment that keeps its finished runs in a folder, if it is given one."""
FULL_SCALE = {"demo": ("full_scale_demo", "full_scale.demo"), "laws": ("laws", "laws")}
"""Records of full-scale runs, which are read as they are committed: by name, their file's name and kind."""


def stored_name(name: str, quick: bool) -> str:
    """The name under which an experiment's record is kept."""
    return f"toy_{name}{'_quick' if quick else ''}"


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
    store.save(stored_name(name, quick), made, folder)
    return made


def records(names: Iterable[str], *, quick: bool = False, folder: Path = store.NUMBERS) -> dict[str, Record]:
    """The stored records of those names, experiments from the folder; ValueError if one is not there."""
    return {
        name: store.load(*FULL_SCALE[name])
        if name in FULL_SCALE
        else store.load(stored_name(name, quick), f"toy.{name}", folder)
        for name in names
    }
