"""What the commands share at a terminal: their console, their progress bars, the code of Ctrl-C."""

from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

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


class Bars:
    """A bar for each stage, shown within the context: what is done, how many of how many, since when, a note.

    Bars are themselves a Progress callback. They go to standard error unless a console is given; those that
    are `hidden` do nothing, those that are `transient` leave nothing behind.
    """

    def __init__(
        self, *, on: Console | None = None, prefix: str = "", hidden: bool = False, transient: bool = False
    ) -> None:
        self.console, self.hidden, self._prefix = on or console(stderr=True), hidden, prefix
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}", markup=False),
        )
        self._shown = Progress(*columns, console=self.console, transient=transient, disable=hidden)
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        """Move the bar of a stage."""
        self.start(stage)
        self._shown.update(self._tasks[stage], completed=done, total=total, note=note)

    def start(self, stage: str) -> None:
        """Show a bar whose length is not known yet, if the stage has none."""
        if stage not in self._tasks:
            self._tasks[stage] = self._shown.add_task(f"{self._prefix}{stage}", total=None, note="")

    def remove(self, stage: str) -> None:
        """Take a bar away, if there is one."""
        if stage in self._tasks:
            self._shown.remove_task(self._tasks.pop(stage))

    def __enter__(self) -> "Bars":
        """Show the bars."""
        self._shown.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the bars as they are, and show them no longer."""
        self._shown.stop()
