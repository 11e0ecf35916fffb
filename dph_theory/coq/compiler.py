"""Compiles the proofs with Coq, and refuses what a file says besides definitions, statements and proofs."""

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from . import sources

INSTALL = "apt-get install --no-install-recommends coq libcoq-coquelicot libcoq-interval"
ALLOWED = tomllib.loads((sources.FOLDER / "allowed.toml").read_text(encoding="utf-8"))
"""Commands that a file may use, and axioms that its theorems and examples may rest on, with reasons."""
_COMMANDS = frozenset(ALLOWED["commands"]["plain"].split())
_EXCEPTIONS = frozenset(sentence for group in ALLOWED["exceptions"] for sentence in group["sentences"])
_SENTENCE = re.compile(r"^Chars (\d+) - (\d+) \[", re.M)
_COMMAND = re.compile(r"[A-Z#]\w*")


class CoqError(RuntimeError):
    """Coq refused a file, or cannot be run."""


def installed() -> bool:
    """Return True if Coq is on this machine."""
    return shutil.which("coqc") is not None


def compile_into(folder: Path, needed: Iterable[str] = ()) -> None:
    """Copy the files, or those needed, to a folder and compile them there; CoqError where Coq refuses one.

    They are compiled side by side: a file waits for those that it requires, which began before it.
    """
    begun: dict[str, Future[None]] = {}

    def compile_when_ready(path: Path) -> None:
        for required in sources.required(path):
            begun[required].result()
        compile_one(folder, path.name)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path in sources.paths(needed):
            shutil.copy(path, folder)
            begun[path.stem] = pool.submit(compile_when_ready, path)
    for done in begun.values():
        done.result()


def compile_one(folder: Path, file: str) -> None:
    """Compile a file of a folder in which those that it requires are compiled; CoqError if it is refused.

    Coq says where each sentence begins and ends: a command that is not allowed is refused by file and line.
    """
    timed, text = run_coq(folder, "-time", file), (folder / file).read_bytes()
    for start, end in _SENTENCE.findall(timed):
        sentence = " ".join(text[int(start) : int(end)].decode().split())
        command = _COMMAND.match(sentence)
        if command and command[0] not in _COMMANDS and f"{file}: {sentence}" not in _EXCEPTIONS:
            line = text.count(b"\n", 0, int(start)) + 1
            raise CoqError(f"{file}, line {line}: {sentence} is not among the commands of allowed.toml")


def run_coq(folder: Path, *arguments: str) -> str:
    """Return the output of coqc in a folder of compiled files; CoqError with its own words if it fails."""
    command = ["coqc", "-q", "-w", "-ambiguous-paths", "-Q", ".", "Kernel", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CoqError((done.stderr or done.stdout).strip())
    return done.stdout
