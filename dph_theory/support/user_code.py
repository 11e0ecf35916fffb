"""A user's own Python modules: how they are imported, how long they may take, and where they fail."""

import importlib
import importlib.util
import io
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import FrameType, ModuleType


class TooLong(BaseException):
    """Raised in code that exceeds its time limit; not an Exception, so that the code does not catch it."""


@contextmanager
def quietly(seconds: float) -> Iterator[io.StringIO]:
    """Run a user's code with captured output; TooLong is raised in it after so many seconds.

    The limit needs the main thread and a system with timers; elsewhere there is none.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong

    try:
        before = signal.signal(signal.SIGALRM, stop)
    except (AttributeError, ValueError):
        before = None
    if before is not None:
        signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with redirect_stdout(io.StringIO()) as printed:
            yield printed
    finally:
        if before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def blamed(error: BaseException, file: Path) -> str:
    """Describe what a user's file raised, with its line: "ZeroDivisionError: ... (mine.py, line 3)".

    The line is the last active one of the file, and is omitted if the file was not entered. A call of
    sys.exit is named as such.
    """
    message = str(error)
    what = f"{type(error).__name__}: {message}" if message else type(error).__name__
    if isinstance(error, SystemExit):
        what = f"it called sys.exit({error.code!r})"
    own = file.resolve()
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == own]
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).resolve() == own:
        return f"{type(error).__name__}: {error.msg} ({file.name}, line {error.lineno})"
    return f"{what} ({file.name}, line {lines[-1]})" if lines else what


def imported(name: str) -> ModuleType:
    """Import a module by its name, or by its file NAME.py, which may import the modules beside it.

    The folder of the file, or the working folder, comes last among the places that modules are imported
    from: a file random.py in it does not replace the standard library's.

    Raises:
        ImportError: If there is no such module, or the file is no Python file.
    """
    folder = str((Path(name).parent if name.endswith(".py") else Path()).resolve())
    if folder not in sys.path:
        sys.path.append(folder)
    if not name.endswith(".py"):
        return importlib.import_module(name)
    own = f"_own_{Path(name).stem}"
    if own not in sys.modules:
        path = Path(name).resolve()
        spec = importlib.util.spec_from_file_location(own, path)
        if spec is None or spec.loader is None or not path.is_file():
            raise ImportError(f"{path} is no Python file")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[own] = module
    return sys.modules[own]
