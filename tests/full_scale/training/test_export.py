import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file
from support.sharded_process import CASES
from support.tiny_llama import tiny_llama

ROOT = Path(__file__).parents[3]
PROCESS = str(ROOT / "tests" / "support" / "sharded_process.py")


def two_processes(what, folder):
    """What two processes under torchrun said; the kernel's kill of one of them is no failure of the test."""
    if not (folder / "model").exists():
        tiny_llama(folder / "model", hidden=16, scale=2.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port", str(port)]
    return subprocess.run(
        [sys.executable, *command, PROCESS, what, str(folder)],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


def weights(folder, case):
    found = (folder / "runs").glob(f"{case.replace(' ', '-')}-seed*/model/*.safetensors")
    return load_file(next(found))


@pytest.mark.slow
def test_sharded_training_killed_and_resumed_exports_the_model_of_plain_data_parallelism(tmp_path):
    plain, sharded = tmp_path / "plain", tmp_path / "sharded"
    killed = two_processes("killed", sharded)
    assert f"exitcode  : {-signal.SIGKILL}" in killed.stderr, killed.stderr[-4000:]
    for what, folder in (("resumed", sharded), ("plain", plain)):
        done = two_processes(what, folder)
        assert done.returncode == 0, done.stderr[-4000:]
    initial = load_file(plain / "model" / "model.safetensors")
    for case in CASES:
        found, expected = weights(sharded, case), weights(plain, case)
        assert found.keys() == expected.keys()
        assert max((found[name] - expected[name]).abs().max() for name in found) < 1e-6, case
        # An adapter begins at no effect: its second factor is zero.
        moved = [
            (expected[name] - initial.get(name, 0)).abs().max() for name in expected if "lora_A" not in name
        ]
        assert max(moved) > 1e-3, case
