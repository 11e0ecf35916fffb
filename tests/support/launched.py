"""Test scripts run as processes of their own, by torchrun or another launcher where there are several."""

import os
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TORCHRUN = ("-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port")
"""A launcher's arguments up to the port at which its processes meet."""


def launched(script, *given, by=(), wait=True, **environment):
    """The process, or launcher, of a script of this folder, finished unless `wait` is false.

    What it exits with is the caller's.
    """
    if by:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            by = (*by, str(free.getsockname()[1]))
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), *sys.path])
    command = [sys.executable, *by, str(ROOT / "tests" / "support" / script), *map(str, given)]
    environment = {**os.environ, "PYTHONPATH": path, **environment}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, env=environment, **pipes)
    if not wait:
        return process
    said = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, *said)
