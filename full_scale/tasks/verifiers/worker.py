"""Worker process: one job per input line, one reply per output line, under limits that the kernel enforces.

A worker (`main`) is a program of its own and never forked: the parent may hold threads, locks and a GPU.
"""

import errno
import importlib
import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import Any, BinaryIO

from dph_theory.support.user_code import imported

LONGEST_DETAIL = 300
"""Maximal characters of an error's text in a reply, so that a reply is one write."""
READY = b"ready\n"

Reply = dict[str, Any]
Judge = Callable[[dict[str, Any]], Reply]


class JudgeOutcome(StrEnum):
    """Outcomes of the verifiers here; only `correct` scores one."""

    CORRECT = "correct"
    WRONG = "wrong"
    NO_ANSWER = "no_answer"  # The completion has nothing to compare.
    ERROR = "error"  # The query cannot be run.
    FORBIDDEN = "forbidden"  # The query does more than read.
    TIMEOUT = "timeout"
    MEMORY = "memory"
    TOO_MANY_ROWS = "too_many_rows"
    CRASH = "crash"
    """The worker process died."""
    GOLD_ERROR = "gold_error"
    """The reference itself cannot be judged: an error of the data."""
    UNREADABLE = "unreadable"
    """The database cannot be opened or read: nothing was judged."""


def restrict(memory: int, write: int = 0) -> None:
    """Limit address space to `memory` bytes and files to `write` bytes, and disable core dumps."""
    limits = ((resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, write), (resource.RLIMIT_CORE, 0))
    for kind, limit in limits:
        resource.setrlimit(kind, (limit, limit))


def _hit(error: Exception) -> str:
    """Words on the memory or file limit that caused an exception; empty if none did."""
    # tempfile tries all writable folders, and finds none.
    if getattr(error, "errno", None) == errno.EFBIG or "No usable temporary directory" in str(error):
        return "; the limit on files is hit: task.options.own.write, in bytes"
    out_of_memory = isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM
    if out_of_memory or "failed to map segment" in str(error):
        return "; the limit on memory is hit: task.options.own.memory, in bytes"
    return ""


def answer(judge: Judge, line: bytes) -> bytes:
    """Reply to one job, as a line; an exception of the judge is the outcome `crash`."""
    try:
        reply = judge(json.loads(line))
    except Exception as error:
        *_, place = traceback.extract_tb(error.__traceback__)
        where = f"{place.filename.rpartition(os.sep)[2]}, line {place.lineno}"
        detail = f"{type(error).__name__}: {error}{_hit(error)} ({where})"
        reply = {"outcome": JudgeOutcome.CRASH, "detail": detail}
    if "detail" in reply:
        reply = {**reply, "detail": str(reply["detail"])[:LONGEST_DETAIL]}
    return json.dumps(reply).encode() + b"\n"


def serve(judge: Judge, seconds: float, jobs: BinaryIO, replies: int) -> None:
    """Answer jobs until the parent closes its end.

    The kernel ends a process that has computed for `seconds` on one job (SIGPROF), even inside a C function
    that never returns to Python, and even if the parent is gone.
    """
    worker = os.getpid()
    for given in jobs:
        number, _, line = given.partition(b" ")
        signal.setitimer(signal.ITIMER_PROF, seconds)
        reply = answer(judge, line)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if os.getpid() != worker:  # If a judge forked, its child neither replies nor takes a job.
            os._exit(0)
        os.write(replies, b"%b %b" % (number, reply))


def main(target: str, memory: str, seconds: str, write: str = "0", first: str = "") -> None:
    """Load the judge and the module that it needs first, apply the limits, report ready, and serve."""
    # Replies have their own descriptor, so that a library's output does not mix with them.
    replies = os.dup(1)
    os.dup2(2, 1)
    module, _, function = target.partition(":")
    judge = getattr(importlib.import_module(module), function)
    if first:
        with suppress(Exception):  # The judge that needs the module will report the error.
            imported(first)
    restrict(int(memory), int(write))
    os.write(replies, READY)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    serve(judge, float(seconds), sys.stdin.buffer, replies)
