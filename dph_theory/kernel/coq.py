"""Compiles the kernel with Coq, and keeps the record of the last compilation.

The record says which version of Coq accepted which files (by SHA-256), and what each theorem that an entry
names rests on. It is worth something for these very files only: with others it says nothing.
"""

import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import files

RECORD = files.FOLDER / "record.json"
CLASSICAL_REALS = (
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
)
"""The axioms of Coq's classical real numbers: all that a theorem may rest on."""
INSTALL = "apt-get install --no-install-recommends coq libcoq-coquelicot"
_ASSUMED = re.compile(r"^([\w.]+)\s*(?::|$)", re.M)


class CoqError(RuntimeError):
    """Coq refused a file, or cannot be run."""


@dataclass(frozen=True)
class Compilation:
    """What Coq said: its version, the files by their hashes, some theorems, the axioms below all these."""

    coq: str
    files: Mapping[str, str]
    theorems: tuple[str, ...]
    axioms: tuple[str, ...]
    seconds: float = field(default=0.0, compare=False)

    @property
    def beyond_the_reals(self) -> list[str]:
        """The axioms besides those of the classical reals."""
        return [axiom for axiom in self.axioms if axiom not in CLASSICAL_REALS]

    def told(self) -> str:
        """The compilation in words: a line a file, and what the theorems rest on."""
        now = files.hashes()
        lines = []
        for name, hash in self.files.items():
            same = "" if now.get(name) == hash else " (another file is here)"
            lines.append(f"  {name}: accepted by Coq {self.coq}, SHA-256 {hash[:16]}{same}")
        lines.append(
            f"  {len(self.theorems)} theorems are named by entries; they rest on {', '.join(self.axioms)}"
        )
        if self.beyond_the_reals:
            lines.append(f"  that is more than the classical reals: {', '.join(self.beyond_the_reals)}")
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """The record as plain data."""
        lists = {"theorems": list(self.theorems), "axioms": list(self.axioms)}
        return {"coq": self.coq, "files": dict(self.files), **lists}


def installed() -> bool:
    """Whether Coq is on this machine."""
    return shutil.which("coqc") is not None


def recorded() -> Compilation:
    """The last compilation that was kept."""
    stored = json.loads(RECORD.read_text(encoding="utf-8"))
    return Compilation(stored["coq"], stored["files"], tuple(stored["theorems"]), tuple(stored["axioms"]))


def compiled(theorems: Iterable[str]) -> Compilation:
    """Compile all files, and ask what the theorems of these names rest on.

    Raises CoqError if Coq is not there, or with the file, the line and the reason where Coq refuses one.
    """
    if not installed():
        raise CoqError(f"coqc is not installed ({INSTALL})")
    start, names = time.perf_counter(), tuple(sorted(theorems))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        compile_into(folder)
        axioms = _axioms(folder, names)
    version = _run(["coqc", "--print-version"]).split()[0]
    return Compilation(version, files.hashes(), names, axioms, time.perf_counter() - start)


def compile_into(folder: Path) -> None:
    """Copy the files to a folder and compile them there; CoqError where Coq refuses one."""
    for path in files.paths():
        shutil.copy(path, folder)
        compile_one(folder, path.name)


def compile_one(folder: Path, file: str) -> None:
    """Compile a file of a folder in which those that it requires are compiled; CoqError if Coq refuses it."""
    _run(["coqc", "-q", "-w", "-ambiguous-paths", "-Q", ".", "Kernel", file], folder)


def _axioms(folder: Path, names: Iterable[str]) -> tuple[str, ...]:
    """The axioms below theorems, as `Print Assumptions` lists them of a tuple of them all."""
    modules = " ".join(path.stem for path in files.paths())
    together = ", ".join(f"@{name}" for name in names)
    asked = f'Definition all := ({together}).\nRedirect "axioms" Print Assumptions all.\n'
    (folder / "Asked.v").write_text(f"From Kernel Require Import {modules}.\n{asked}", encoding="utf-8")
    compile_one(folder, "Asked.v")
    said = (folder / "axioms.out").read_text(encoding="utf-8")
    return tuple(sorted(_ASSUMED.findall(said.partition("Axioms:")[2])))


def _run(command: list[str], folder: Path | None = None) -> str:
    """What a command says; CoqError with its own words if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CoqError((done.stderr or done.stdout).strip())
    return done.stdout
