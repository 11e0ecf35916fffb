"""Jobs that a spawned process can import: they divide, sleep, or tell something about their process."""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path


def divide(by: int, sleep: float) -> float:
    """Minus one divides at once, 0 raises; positive numbers sleep first."""
    if by > 0:
        time.sleep(sleep)
    return 1 / by


def end_at_seven(number: int) -> int:
    """The number; at seven the process is killed, and after seven it takes its time."""
    if number == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.3)
    return number


def leave_mark(path: Path) -> None:
    """Leave an empty file; one named slow takes its time."""
    if path.name == "slow":
        time.sleep(0.3)
    path.touch()


def say_then_sleep(word: str) -> None:
    """Print a word, and sleep for ten minutes."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()
    time.sleep(600)


def new_pages(rounds: int) -> int:
    """How many pages the system brings for blocks of 8 MB, eight at once, which are freed each round."""
    from resource import RUSAGE_SELF, getrusage

    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    before = getrusage(RUSAGE_SELF).ru_minflt
    for _ in range(rounds):
        blocks = [ctypes.c_void_p(library.malloc(ctypes.c_size_t(2**23))) for _ in range(8)]
        for block in blocks:
            ctypes.memset(block, 1, 2**23)
        for block in blocks:
            library.free(block)
    return getrusage(RUSAGE_SELF).ru_minflt - before


def has_loaded(module: str) -> bool:
    """Whether this process has the module."""
    return module in sys.modules
