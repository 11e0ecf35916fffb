"""Judges that behave and misbehave, for worker processes to load by name."""

import ctypes
import os
import signal
import time
from pathlib import Path


def behave(job):
    """Do what the job says, and answer with what came of it."""
    return {"outcome": "done", "detail": _DEEDS[job["do"]](job)}


def verdict(job):
    """Right for yes, with how many it has judged."""
    verdict.judged = getattr(verdict, "judged", 0) + 1
    return {"outcome": "correct" if job["do"] == "yes" else "wrong", "detail": verdict.judged}


def _write(job):
    try:
        Path(job["path"]).write_text("written")
    except OSError as error:
        return error.strerror
    return "written"


def _allocate(job):
    try:
        bytearray(job["bytes"])
    except MemoryError:
        return "refused"
    return "allocated"


def _start(job):
    """A process that outlives its job, unless it is ended with the worker."""
    import subprocess
    import sys

    return str(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"]).pid)


def _fork(job):
    """Both processes reply, the child a little later, and once."""
    child = os.fork()
    if not child:
        time.sleep(0.3)
    return "child" if not child else "parent"


_DEEDS = {
    "start": _start,
    "fork": _fork,
    "echo": lambda job: job["text"],
    "pid": lambda job: os.getpid(),
    "sleep": lambda job: time.sleep(job["seconds"]),
    "compute": lambda job: 9 ** (9**9),  # in C: no signal handler of Python's would run before it ends
    "die": lambda job: os.kill(os.getpid(), signal.SIGKILL),
    "segfault": lambda job: ctypes.string_at(0),
    "exit": lambda job: os._exit(0),
    "raise": lambda job: [][1],
    "shout": lambda job: print("x" * 10_000),  # noqa: T201
    "environment": lambda job: sorted(os.environ),
    "write": _write,
    "allocate": _allocate,
}
