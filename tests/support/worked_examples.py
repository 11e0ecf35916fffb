"""Worked examples in Markdown: their files written, their changes made, their commands run, in a copy.

A fenced block with a title is a file, or what is added to one, or, as a diff, a change of one; lines of a
console block that begin with "$ " are commands, followed by what their output must contain, in order, "..."
standing for anything.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.M | re.S)
COPIED = ("dph_theory", "toy_lm", "full_scale", "figures", "tests", "dph_cli.py", "pyproject.toml")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "numbers", "out")


def copy_of_the_project(folder: Path) -> Path:
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=LEFT_OUT)
        else:
            shutil.copy(source, folder / name)
    return folder


def work_through(page: Path, root: Path) -> list[str]:
    """Do all that a page says, in a copy of the project; the outputs of its commands."""
    outputs = []
    for language, title, text in BLOCK.findall(page.read_text()):
        if language == "console":
            outputs += [run(command, expected, root) for command, expected in commands(text)]
        elif title and language == "diff":
            change(root / title, text)
        elif title:
            path = root / title
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{path.read_text()}\n\n{text}" if path.exists() else text)
    return outputs


def commands(text: str) -> list[tuple[str, str]]:
    parts = re.split(r"^\$ (.*)\n", text, flags=re.M)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def change(path: Path, diff: str) -> None:
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] != "+")
    after = "".join(line[1:] for line in lines if line[0] != "-")
    text = path.read_text()
    assert text.count(before) == 1, f"{path.name} has {text.count(before)} places like\n{before}"
    path.write_text(text.replace(before, after))


def run(command: str, expected: str, root: Path) -> str:
    program, *arguments = command.split()
    start = {"dph": [sys.executable, "-m", "dph_cli"], "python": [sys.executable]}[program]
    environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*start, *arguments], cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert found(expected, done.stdout), f"{command}\nmeant\n{expected}\nbut said\n{done.stdout}"
    return done.stdout


def found(expected: str, output: str) -> bool:
    words = [".*" if word == "..." else re.escape(word) for word in expected.split()]
    return re.search(r"\s+".join(words).replace(r"\s+.*\s+", ".*"), output, re.S) is not None
