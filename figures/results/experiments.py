"""The toy experiments as several figures share them: computed once, stored, read by every figure."""

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from dph_theory.support.errors import argument_error

from . import store

EXPERIMENTS = ("collapse", "strategies", "styles")
"""Packages of toy_lm with Config, run(config, seed=, progress=) and tables(record)."""
RESUMABLE = "styles"
"""The experiment that keeps its finished runs in a folder, if it is given one."""

_kept_in: ContextVar[Path] = ContextVar("_kept_in", default=store.NUMBERS)


def stored_name(name: str, quick: bool) -> str:
    """The name under which an experiment's record is kept."""
    return f"toy_{name}{'_quick' if quick else ''}"


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Within it, experiments are read from that folder, not from the committed numbers."""
    before = _kept_in.set(folder)
    try:
        yield
    finally:
        _kept_in.reset(before)


def run(
    name: str,
    *,
    seed: int = 0,
    quick: bool = False,
    folder: Path = store.NUMBERS,
    progress: Callable[[str, int, int], None] | None = None,
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
    _stored.cache_clear()
    return made


def experiment(name: str, quick: bool = False, folder: Path | None = None) -> dict[str, Any]:
    """The stored record of an experiment; ValueError if it has not been run."""
    return _stored(name, quick, folder or _kept_in.get())


@cache
def _stored(name: str, quick: bool, folder: Path) -> dict[str, Any]:
    return store.load(stored_name(name, quick), f"toy.{name}", folder)
