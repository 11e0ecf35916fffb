"""Python files that a user names: what went wrong in them, and where."""

import traceback
from pathlib import Path


def blamed(error: BaseException, file: Path) -> str:
    """What a user's file raised and at which of its lines: "ZeroDivisionError: ... (mine.py, line 3)".

    The last line of the file that was under way; none is named where it was not entered. A call of sys.exit
    is said so.
    """
    said = str(error)
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    if isinstance(error, SystemExit):
        what = f"it called sys.exit({error.code!r})"
    own = file.resolve()
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).resolve() == own
    ]
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).resolve() == own:
        return f"{type(error).__name__}: {error.msg} ({file.name}, line {error.lineno})"
    return f"{what} ({file.name}, line {lines[-1]})" if lines else what
