"""Every stage by its command: on a full disk, killed, and then finished with the undisturbed numbers."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from support.launched import launched
from support.rule_task import TRAIN
from support.tiny_llama import tiny_llama

ROOT = Path(__file__).parents[2]
RECIPE = {
    "name": "own",
    "output": "out",
    "model": {"path": "model"},
    "task": {"name": "dataset", "data": "rows.jsonl", "options": {"verifier": "judge.py:is_low"}},
    "sampling": {"max_new_tokens": 6, "batch_size": 2},
    "presample": {"k": 4, "threshold": 4, "fresh": False},
    "train": TRAIN | {"gradient_accumulation_steps": 1},
    "evaluate": {"samples": 4, "k": [1, 4], "sets": ["held_out"]},
}
RECIPE["task"]["options"]["evaluation"] = {"held_out": {"data": "rows.jsonl"}}
JUDGE = "def is_low(answer, row):\n    return answer[1:2] in tuple('12345')\n"
COUNT = "count model rows.jsonl --verifier judge.py:is_low --n 4 --batch-size 8 --max-tokens 6"
COMMANDS = {
    "count": f"{COUNT} --to out/counts.jsonl",
    "transfer": "transfer model answers.jsonl --to out/kernel.npz",
    "presample": "presample --config own.yaml",
    "train": "train --config own.yaml",
    "evaluate": "evaluate --config own.yaml",
    "validate": "validate out/own-seed0 --json out/validated.json",
}


def results(out):
    """What all commands left, times aside."""
    names = (
        "presample/presample.json",
        "own-seed0/evaluation.json",
        "validated.json",
        "own-seed0/training.json",
    )
    stored = {name: json.loads((out / name).read_text())["results"] for name in names}
    training = stored.pop(names[-1])
    with np.load(out / "kernel.npz") as kernel:
        arrays = {name: kernel[name].tolist() for name in kernel.files}
    losses = [(entry["step"], entry["loss"], entry["reward"]) for entry in training["log"]]
    return stored, training["trained_hash"], losses, arrays, (out / "counts.jsonl").read_text()


@pytest.fixture
def dph(tmp_path):
    """Starts a command in a folder with a model, prompts and a recipe; `out` may be a disk of its own."""
    tiny_llama(tmp_path / "model", hidden=16, scale=2.0)
    (tmp_path / "own.yaml").write_text(json.dumps(RECIPE))
    (tmp_path / "judge.py").write_text(JUDGE)
    rows = [{"prompt": f"p{i} p{7 - i}", "answers": [f"w{i}"]} for i in range(8)]
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps({"prompt": row["prompt"]}) + "\n" for row in rows)
    )
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}

    def start(words):
        command = [sys.executable, str(ROOT / "dph_cli.py"), *words.split()]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes)

    return start


def finished(process):
    said = process.communicate()[0]
    assert process.returncode == 0, said
    return said


def mounted(*words):
    return subprocess.run(words, capture_output=True).returncode == 0


@pytest.mark.slow
def test_a_full_disk_and_a_kill_cost_a_command_nothing_that_is_not_done_again(dph, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    seconds = {}
    for name, words in COMMANDS.items():
        begin = time.monotonic()
        finished(dph(words))
        seconds[name] = time.monotonic() - begin
    undisturbed = results(out)
    shutil.rmtree(out)
    out.mkdir()
    if not mounted("mount", "-t", "tmpfs", "-o", "size=1m", "none", str(out)):
        pytest.skip("needs the right to mount a small disk")
    try:
        for name, words in COMMANDS.items():
            used = sum(path.stat().st_blocks * 512 for path in out.rglob("*"))
            free = 0 if name == "validate" else 8  # What validate writes is short.
            mounted("mount", "-o", f"remount,size={used // 4096 * 4 + free}k", str(out))
            full = dph(words)
            said = full.communicate()[0]
            assert full.returncode in (1, 2), (name, said)
            assert any(words in said for words in ("No space left", "bytes free", "of disk")), (name, said)
            assert "Traceback" not in said, (name, said)
            mounted("mount", "-o", "remount,size=64m", str(out))
            killed = dph(words)
            time.sleep(0.8 * seconds[name])
            killed.kill()
            killed.communicate()
            finished(dph(words))
        assert results(out) == undisturbed
    finally:
        mounted("umount", str(out))


@pytest.mark.slow
def test_an_experiment_goes_on_after_a_full_disk_and_a_kill_and_makes_no_run_twice(tmp_path):
    """The study of `support.small_study`, whose runs take a fifth of a second and 2 kB."""
    out = tmp_path / "out"
    out.mkdir()
    if not mounted("mount", "-t", "tmpfs", "-o", "size=8k", "none", str(out)):
        pytest.skip("needs the right to mount a small disk")
    words = ("--folder", out, "--json", out / "record.json", "--workers", "2")
    try:
        full = launched("small_study.py", *words)
        assert (full.returncode, "No space left" in full.stderr, "Traceback" in full.stderr) == (
            2,
            True,
            False,
        )
        mounted("mount", "-o", "remount,size=1m", str(out))
        journal = out / "small" / "journal.jsonl"
        before = whole_lines(journal)
        killed = launched("small_study.py", *words, wait=False)
        while whole_lines(journal) < before + 1:
            time.sleep(0.02)
        killed.kill()
        killed.communicate()
        kept = whole_lines(journal) - 1
        assert 1 <= kept < 8
        last = launched("small_study.py", *words)
        assert last.returncode == 0, last.stderr
        assert last.stderr.count("made ") == 8 - kept
        assert json.loads((out / "record.json").read_text())["results"]["squares"] == [n**2 for n in range(8)]
    finally:
        mounted("umount", str(out))


def whole_lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0
