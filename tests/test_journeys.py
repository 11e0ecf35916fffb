"""Five journeys in a terminal of eighty columns, as they are printed: the docs include these transcripts.

UPDATE_TRANSCRIPTS=1 writes them anew: read the difference before it is committed.
"""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.shown_text import assert_shown_alike

ROOT = Path(__file__).parents[1]
TRANSCRIPTS = ROOT / "docs" / "transcripts"
COUNTS = "examples/counts/base.jsonl"
KERNEL = "examples/transfer/kernel.npz"
RUN = ["trl", "beta=0", "learning_rate=1e-5", "num_generations=16", "--steps", "20", "--k", "256"]
ANSWERS = ["examples/twelve_prompts.jsonl", "--verifier", "exact", "--n", "16", "--max-tokens", "8"]
JOURNEYS = {
    "count": ["count", "smollm2", *ANSWERS, "--to", "base.jsonl"],
    "transfer": ["predict", *RUN, "--transfer", KERNEL],
    "verify": ["verify", "kl_control.pass_rate", "--quick"],
    "predict": ["predict", "trl", "beta=0.04", "--counts", COUNTS],
    "compare": ["compare", COUNTS, "examples/counts/grpo.jsonl"],
}
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\r")
_RATES = re.compile(r"\b[01]\.\d{3}\b")
"""What another processor's last digits may sample otherwise."""
_SECONDS = re.compile(r"\b\d+\.\d(?= *│$)", re.M)


def in_a_terminal(words: list[str], folder: Path) -> str:
    """What a command prints where it is run in a real terminal, without colours."""
    master, worker = pty.openpty()
    size = {"COLUMNS": "80", "LINES": "24", "TERM": "xterm", "OMP_NUM_THREADS": "1"}
    options = {"cwd": folder, "env": {**os.environ, **size}, "stdout": worker, "stdin": worker}
    with subprocess.Popen([sys.executable, "-m", "dph_cli", *words], **options) as process:
        os.close(worker)
        printed = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # The other end is closed.
                break
            if not part:
                break
            printed += part
    os.close(master)
    assert process.returncode == 0, printed.decode()
    return _SECONDS.sub("s.s", _ESCAPES.sub("", printed.decode()))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "count")) for name in JOURNEYS]
)
def test_a_journey_prints_what_its_transcript_says(name, tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    command = " ".join(["$ dph", *JOURNEYS[name]])
    lines = (line.rstrip() for line in in_a_terminal(JOURNEYS[name], tmp_path).splitlines())
    said = "\n".join([command, *lines]) + "\n"
    path = TRANSCRIPTS / f"{name}.txt"
    if os.environ.get("UPDATE_TRANSCRIPTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(said)
    texts = said, path.read_text()
    printed, stored = (_RATES.sub("0.000", text) if name == "count" else text for text in texts)
    assert_shown_alike(printed, stored)
    assert max(map(len, said.splitlines()[1:])) <= 80
