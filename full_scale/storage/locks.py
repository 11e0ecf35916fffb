"""One training at a time in a folder, and no process that outlives the launcher that started it."""

import ctypes
import fcntl
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dph_theory.support.errors import argument_error

LOCK = "lock"
_PR_SET_PDEATHSIG = 1


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Work in a folder that no other process works in; ValueError names the one that does.

    The kernel frees the lock when its process ends, however it ends. Of several processes of one launch the
    first holds it for all.
    """
    if os.environ.get("RANK", "0") != "0":
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            allowed = f"a folder where nothing else is at work; {file.read().strip() or 'another process'} is"
            raise argument_error("output", str(folder), allowed) from error
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        yield


def end_with_launcher() -> None:
    """Have the kernel end this process when the launcher that started it (torchrun, accelerate) is killed.

    A launcher ends its processes itself, unless it is killed outright. On Linux; nothing elsewhere, and
    nothing for a process that no launcher started.
    """
    if "LOCAL_RANK" not in os.environ or sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:
        # It was killed before the kernel had been told.
        os.kill(os.getpid(), signal.SIGKILL)
