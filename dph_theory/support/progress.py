"""Callbacks by which a long computation reports its progress."""

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int, int], None]  # Called with (stage, done, total).
# Called with (stage, done, total, measured values).
NotedProgress: TypeAlias = Callable[[str, int, int, str], None]
StageProgress: TypeAlias = Callable[[int, int], None]  # Called with (done, total) of the only stage.


def silent(stage: str, done: int, total: int, note: str = "") -> None:
    """Report nothing."""
