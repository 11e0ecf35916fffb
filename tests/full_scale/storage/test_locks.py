import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from dph_theory.support.errors import RefusedError
from full_scale.storage.locks import locked

ROOT = Path(__file__).parents[3]
LAUNCHER = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE)
print(child.pid, child.stdout.readline().decode().strip(), flush=True)
time.sleep(60)
"""
CHILD = """
import time
from full_scale.storage.locks import end_with_launcher
end_with_launcher()
print("ready", flush=True)
time.sleep(60)
"""


def test_two_works_in_one_folder_are_kept_apart(tmp_path, monkeypatch):
    with locked(tmp_path / "run"):
        with pytest.raises(RefusedError, match=rf"process {os.getpid()} on .* is"), locked(tmp_path / "run"):
            pass
        with locked(tmp_path / "other"):
            pass
        # The other processes of the launch that holds it.
        monkeypatch.setenv("RANK", "1")
        with locked(tmp_path / "run"):
            pass
        monkeypatch.delenv("RANK")
    with locked(tmp_path / "run"):
        pass


def ended(process):
    """Whether a process is gone, or waits only to be reaped."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's signal at a parent's death is Linux's")
@pytest.mark.parametrize("launched", [True, False])
def test_a_process_ends_with_the_launcher_that_started_it(launched):
    environment = {key: value for key, value in os.environ.items() if key != "LOCAL_RANK"}
    environment |= {"PYTHONPATH": str(ROOT)} | ({"LOCAL_RANK": "0"} if launched else {})
    command = [sys.executable, "-c", LAUNCHER, CHILD]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as launcher:
        process = int(launcher.stdout.readline().split()[0])
        launcher.kill()
    deadline = time.monotonic() + (10 if launched else 0.3)
    while not ended(process) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert ended(process) == launched
    if not launched:
        os.kill(process, signal.SIGKILL)


def test_refused_work_leaves_no_folder_behind(tmp_path):
    for folder, stays in ((tmp_path / "new", False), (tmp_path / "used", True)):
        with suppress(RefusedError), locked(folder):
            if stays:
                (folder / "result").touch()
            raise RefusedError("no")
        assert folder.exists() is stays
