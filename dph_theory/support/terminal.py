"""Shared terminal code of the commands: console, progress bars, output files, exit code of Ctrl-C."""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from .files import STANDARD_OUTPUT

INTERRUPTED = 130  # Exit code of an interrupted command.
PIPED_WIDTH = 80  # Width of output to anything but a terminal.
seed = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of all randomness."
)
COUNTS_OPTIONS: dict[str, tuple[str, type, str]] = {
    "reward": ("--correct", str, "Column of rewards, or of whether answers are correct."),
    "correct_from": ("--correct-from", float, "Minimum reward of a correct answer. [default: 1]"),
    "column": ("--id", str, "Column that names the prompt."),
    "answer": ("--answer", str, "Column with an answer's text, or a list."),
    "n": ("--n", int, "Answers behind each pass rate, if no column has it."),
    "unscored": ("--unscored", str, "Answers without a reward: wrong or omit."),
    "prompts": ("--set", str, "Set of prompts in folders of dph evaluate. [default: the only set]"),
}
"""Options that define how a file of counts or a log of answers is read, by fields of `ReadingOptions`."""


def counts_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options for reading a log."""
    for name, (option, value_type, words) in reversed(COUNTS_OPTIONS.items()):
        command = click.option(option, name, type=value_type, help=words)(command)
    return command


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # Called while the error is handled; rich would exit with 1.
        raise BrokenPipeError


def console(*, stderr: bool = False, **options: Any) -> Console:
    """Create a rich Console; options are Console's.

    Outside a terminal it is as wide as the variable COLUMNS says, or PIPED_WIDTH.
    """
    output = _Console(stderr=stderr, **options)
    columns = os.environ.get("COLUMNS", "")
    if not output.is_terminal:
        output.width = int(columns) if columns.isdecimal() and int(columns) else PIPED_WIDTH
    return output


def say(on: Console, words: str) -> None:
    """Print words verbatim: no markup, no colours, no line breaks, no control characters."""
    from .table import printable

    on.print(printable(words), markup=False, highlight=False, soft_wrap=True)


class OutputFile(click.ParamType):
    """Parameter type of a file to write, tested before the work begins; "-" is standard output."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path if a file can be written there; otherwise fail with a usage error."""
        path = Path(value)
        if path == STANDARD_OUTPUT:
            return path
        if path.is_dir():
            self.fail(f"{path} is a folder", param, ctx)
        if path.exists() and not os.access(path, os.W_OK):
            self.fail(f"{path} is not writable", param, ctx)
        folder = path.resolve().parent
        if not folder.is_dir():
            self.fail(f"{path}: the folder {folder} does not exist", param, ctx)
        # A file is written beside the path until it is complete, except for a device or a pipe.
        if path.is_file() or not path.exists():
            _try(self, path, folder, param, ctx)
        return path


class OutputFolder(click.ParamType):
    """Parameter type of a folder to write to, new or not, tested before the work begins."""

    name = "directory"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path if the folder can be written to or made; otherwise fail with a usage error."""
        path = Path(value)
        existing = next(folder for folder in (path.resolve(), *path.resolve().parents) if folder.exists())
        if not existing.is_dir():
            self.fail(f"{existing} is no folder", param, ctx)
        _try(self, path, existing, param, ctx)
        return path


def _try(kind: click.ParamType, path: Path, folder: Path, *about: Any) -> None:
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        kind.fail(f"{path}: in {folder} nothing can be written ({error.strerror or error})", *about)


def lines(on: Console, *, every: float = 60.0) -> Callable[..., None]:
    """Progress callback for a log file: a line when a stage ends, and at most every `every` seconds before.

    A stage is timed from the end of the stage before it, not from its first report; the first stage is timed
    from now.
    """
    free = time.monotonic()
    begun: dict[str, float] = {}
    printed: dict[str, float] = {}

    def progress(stage: str, done: int, total: int, note: str = "") -> None:
        nonlocal free
        now = time.monotonic()
        begun.setdefault(stage, now if begun else free)
        if done == total or now - printed.setdefault(stage, now) >= every:
            printed[stage] = now
            words = [f"{stage}: {done}/{total}, {now - begun[stage]:.0f} s", *([note] if note else [])]
            say(on, ", ".join(words))
        if done == total:
            del begun[stage], printed[stage]
            free = now

    return progress


class Bars(Progress):
    """Progress bars within a context, one per stage: count, elapsed and remaining time, a note.

    Bars are themselves a Progress callback. They go to standard error unless a console is given. `hidden`
    bars do nothing; `transient` bars disappear at the end.
    """

    def __init__(
        self, *, on: Console | None = None, prefix: str = "", hidden: bool = False, transient: bool = False
    ) -> None:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", markup=False),
        )
        super().__init__(*columns, console=on or console(stderr=True), transient=transient, disable=hidden)
        self._prefix = prefix
        self._stages: dict[str, TaskID] = {}
        self._free = self.get_time()  # Possible start of a stage not yet begun.

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        """Move the bar of a stage."""
        self.begin(stage)
        self.update(self._stages[stage], completed=done, total=total, note=note)
        if done == total:
            self._free = self.get_time()

    def begin(self, stage: str) -> None:
        """Show a bar of unknown length, if the stage has none."""
        if stage not in self._stages:
            alone = all(task.finished for task in self.tasks)
            self._stages[stage] = self.add_task(f"{self._prefix}{stage}", total=None, note="")
            if alone:
                self.tasks[-1].start_time = self._free

    def remove(self, stage: str) -> None:
        """Remove a bar, if there is one."""
        if stage in self._stages:
            self.remove_task(self._stages.pop(stage))
