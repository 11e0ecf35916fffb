"""A command that Ctrl-C meets while its workers are at work."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import NamedTuple


class Interrupted(NamedTuple):
    returncode: int
    out: str
    errors: str


def interrupted(command: list[str], after: float = 0.5) -> Interrupted:
    """What is left of a command that gets Ctrl-C that many seconds after its first process began."""
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    while not (children.read_text() if children.exists() else time.sleep(3.5) or "unknown"):
        time.sleep(0.05)
    time.sleep(after)
    os.killpg(running.pid, signal.SIGINT)
    out, errors = running.communicate(timeout=120)
    return Interrupted(running.returncode, out, errors)
