import os
import subprocess
import sys
from pathlib import Path

import pytest

from full_scale.storage.processes import Processes


def test_the_pieces_are_shared_out(monkeypatch):
    assert [list(Processes(rank, 3).mine(7)) for rank in range(3)] == [[0, 3, 6], [1, 4], [2, 5]]
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert Processes.of_launch() == (0, 1)
    Processes.of_launch().wait()
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert Processes.of_launch() == (2, 4)


ROOT = Path(__file__).parents[3]
LATE = """
import sys, time
from pathlib import Path
from full_scale.storage.processes import Processes
processes, folder = Processes.of_launch(), Path(sys.argv[1])
time.sleep(processes.rank)
(folder / str(processes.rank)).touch()
processes.wait()
found = sorted(path.name for path in folder.iterdir())
sys.exit(found != ["0", "1", "late.py"])
"""


@pytest.mark.slow
def test_processes_wait_for_the_last(tmp_path):
    (tmp_path / "late.py").write_text(LATE)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    done = subprocess.run(
        [*command, str(tmp_path / "late.py"), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
