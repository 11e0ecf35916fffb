"""What the commands share at a terminal: their console, the columns of their bars, the code of Ctrl-C."""

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn, TimeElapsedColumn

INTERRUPTED = 130
"""What a command exits with that was interrupted."""
PIPED_WIDTH = 150
"""Piped output has no width of its own; tables need this much not to wrap every cell."""


def console(*, stderr: bool = False, **options: Any) -> Console:
    """A rich Console, PIPED_WIDTH wide where it is no terminal; options are Console's."""
    found = Console(stderr=stderr, **options)
    if not found.is_terminal:
        found.width = PIPED_WIDTH
    return found


def columns(description: str = "{task.description}") -> tuple[ProgressColumn, ...]:
    """The columns of a progress bar: what is done, the bar, how many of how many, since when."""
    return TextColumn(description), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
