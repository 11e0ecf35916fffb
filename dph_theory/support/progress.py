"""What a long computation reports to its caller while it works."""

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with (stage, done, total)."""
NotedProgress: TypeAlias = Callable[[str, int, int, str], None]
"""Called with (stage, done, total, what was measured)."""
StageProgress: TypeAlias = Callable[[int, int], None]
"""Called with (done, total) of the one stage there is."""


def silent(stage: str, done: int, total: int, note: str = "") -> None:
    """The Progress that nobody watches."""
