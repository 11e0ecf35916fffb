"""One training at a time per folder, and no process that outlives its launcher."""

import ctypes
import os
import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from dph_theory.support.errors import RefusedError
from dph_theory.support.files import write_text

LOCK, HOLDER = "lock", "lock.holder"
"""Name of the lock file, and of the file that describes the process which owns it."""
_PR_SET_PDEATHSIG = 1


@contextmanager
def locked(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Lock a folder for this process; if another process owns the lock, raise RefusedError or `wait`.

    The kernel frees the lock when its process ends, for whatever reason. In a launch of several processes the
    first process locks the folder for all.
    """
    if os.environ.get("RANK", "0") != "0":
        yield
        return
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    lock, holder = FileLock(folder / LOCK, timeout=-1 if wait else 0), folder / HOLDER
    try:
        lock.acquire()
    except Timeout as error:
        who = holder.read_text(encoding="utf-8") if holder.is_file() else "another process"
        raise RefusedError(
            f"{who} is at work in {folder}: wait for it, or use another output folder"
        ) from error
    try:
        write_text(holder, f"process {os.getpid()} on {socket.gethostname()}")
        yield
    except (RefusedError, ValueError):
        # A folder that was created for refused work is removed.
        if new and {path.name for path in folder.glob("*")} <= {LOCK, HOLDER}:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        lock.release()


def end_with_launcher() -> None:
    """Have the kernel kill this process if the launcher that started it (torchrun, accelerate) is killed.

    A launcher ends its own processes unless it is killed outright. Works on Linux; has no effect elsewhere,
    or without a launcher.
    """
    if "LOCAL_RANK" not in os.environ or sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:
        # The launcher was killed before the request reached the kernel.
        os.kill(os.getpid(), signal.SIGKILL)
