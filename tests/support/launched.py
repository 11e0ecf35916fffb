"""Test scripts run as processes of their own, by torchrun or another launcher where there are several."""

import os
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TORCHRUN = ("-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port")
"""A launcher's arguments up to the port at which its processes meet."""


def launched(script, *given, by=(), **environment):
    """The finished process, or launcher, of a script of this folder; what it exits with is the caller's."""
    if by:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            by = (*by, str(free.getsockname()[1]))
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), *sys.path])
    command = [sys.executable, *by, str(ROOT / "tests" / "support" / script), *map(str, given)]
    environment = {**os.environ, "PYTHONPATH": path, **environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True)
