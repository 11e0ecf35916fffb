"""What a long computation tells its caller while it works."""

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told (stage, done, total)."""
NotedProgress: TypeAlias = Callable[[str, int, int, str], None]
"""Told (stage, done, total, what was measured)."""
StageProgress: TypeAlias = Callable[[int, int], None]
"""Told (done, total) of the one stage there is."""


def silent(stage: str, done: int, total: int, note: str = "") -> None:
    """The Progress that nobody watches."""
