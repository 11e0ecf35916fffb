"""One training at a time in a folder, and no process that outlives the launcher that started it."""

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
"""The lock, and who has it in words."""
_PR_SET_PDEATHSIG = 1


@contextmanager
def locked(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Work in a folder that no other process works in; RefusedError names another, unless to `wait`.

    The kernel frees the lock when its process ends, however it ends. Of several processes of one launch the
    first holds it for all.
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
            f"{who} is at work in {folder}: wait for it, or take another output folder"
        ) from error
    try:
        write_text(holder, f"process {os.getpid()} on {socket.gethostname()}")
        yield
    finally:
        # A folder that was made for work which was then refused is not left behind.
        if new and not wait and {path.name for path in folder.iterdir()} <= {LOCK, HOLDER}:
            shutil.rmtree(folder, ignore_errors=True)
        lock.release()


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
