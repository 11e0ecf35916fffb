"""Compiles the kernel with Coq, and keeps the record of the last compilation.

The record says which version of Coq accepted which files (by SHA-256), and what their theorems and examples
rest on. It is worth something for these very files only: with others it says nothing.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from . import sources

RECORD = sources.FOLDER / "record.json"
CLASSICAL_REALS = (
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
)
"""The axioms of Coq's classical real numbers: all that a theorem may rest on."""
INSTALL = "apt-get install --no-install-recommends coq libcoq-coquelicot libcoq-interval"
PRIMITIVES = ("PrimInt63.", "PrimFloat.", "Uint63.", "FloatAxioms.")
"""Coq's integers and floats of the machine, on which examples may compute: whose names begin so."""
_ASSUMED = re.compile(r"^([\w.]+)\s*(?::|$)", re.M)


class CoqError(RuntimeError):
    """Coq refused a file, or cannot be run."""


@dataclass(frozen=True)
class Compilation:
    """What Coq said: its version, the files by their hashes, the axioms below theorems and below examples.

    Counterexamples that are computed count with the examples.
    """

    coq: str
    files: Mapping[str, str]
    axioms: tuple[str, ...]
    of_examples: tuple[str, ...]
    seconds: float = field(default=0.0, compare=False)

    @property
    def beyond_the_reals(self) -> list[str]:
        """The axioms of theorems besides those of the classical reals."""
        return [axiom for axiom in self.axioms if axiom not in CLASSICAL_REALS]

    @property
    def computing(self) -> list[str]:
        """What examples rest on besides the classical reals."""
        return [axiom for axiom in self.of_examples if axiom not in CLASSICAL_REALS]

    @property
    def beyond_primitives(self) -> list[str]:
        """What examples rest on besides the classical reals and Coq's primitives."""
        return [axiom for axiom in self.computing if not axiom.startswith(PRIMITIVES)]

    def told(self) -> str:
        """The compilation in words: how many files, and what theorems and examples rest on."""
        others = sorted(name for name, hash in sources.hashes().items() if self.files.get(name) != hash)
        lines = [
            f"  {len(self.files)} files accepted by Coq {self.coq}",
            f"  {len(sources.statements())} theorems rest on {', '.join(self.axioms)}",
            f"  {len(sources.examples())} examples rest on {len(self.computing)} primitives of Coq besides",
        ]
        lines += [f"  not these files: {', '.join(others)}"] if others else []
        beyond = self.beyond_the_reals + self.beyond_primitives
        return "\n".join(
            lines + ([f"  more than the classical reals: {', '.join(beyond)}"] if beyond else [])
        )

    def kept(self) -> None:
        """Write it as the record."""
        lists = {"axioms": list(self.axioms), "of_examples": list(self.of_examples)}
        made = {"coq": self.coq, "files": dict(self.files), **lists}
        RECORD.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def installed() -> bool:
    """Whether Coq is on this machine."""
    return shutil.which("coqc") is not None


def recorded() -> Compilation:
    """The last compilation that was kept."""
    stored = json.loads(RECORD.read_text(encoding="utf-8"))
    return Compilation(stored["coq"], stored["files"], tuple(stored["axioms"]), tuple(stored["of_examples"]))


@cache
def unaccepted() -> tuple[str, ...]:
    """Why the theorems are not accepted by Coq on the classical reals alone; nothing if they are."""
    if sources.assumed():
        return sources.assumed()
    record = recorded()
    if record.files != sources.hashes():
        return ("the record is of other files: run docs/generate.py where Coq is",)
    beyond = ", ".join(record.beyond_the_reals + record.beyond_primitives)
    return (
        (f"the record has axioms besides those of the reals and the primitives: {beyond}",) if beyond else ()
    )


def compiled() -> Compilation:
    """Compile all files, and ask what their theorems and examples rest on.

    Raises CoqError if Coq is not there, or with the file, the line and the reason where Coq refuses one.
    """
    if not installed():
        raise CoqError(f"coqc is not installed ({INSTALL})")
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        compile_into(folder)
        computing = sources.by_computing()
        reasoned = [name for name in sources.statements() if name not in computing]
        axioms, of_examples = (axioms_below(folder, n) for n in (reasoned, [*sources.examples(), *computing]))
    version = _run(["coqc", "--print-version"]).split()[0]
    return Compilation(version, sources.hashes(), axioms, of_examples, time.perf_counter() - start)


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
    """Compile a file of a folder in which those that it requires are compiled; CoqError if Coq refuses it."""
    _run(["coqc", "-q", "-w", "-ambiguous-paths", "-Q", ".", "Kernel", file], folder)


def axioms_below(folder: Path, names: Iterable[str]) -> tuple[str, ...]:
    """The axioms below theorems, as `Print Assumptions` lists them of a term that holds them all."""
    modules = " ".join(path.stem for path in sources.paths())
    # Not a tuple: the type of one of many grows with their number squared.
    held = " ".join(f"let _ := @{name} in" for name in names)
    if not held:
        return ()
    asked = f'Definition all : True := {held} I.\nRedirect "axioms" Print Assumptions all.\n'
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
