"""The files of the kernel: their statements, examples and definitions as written, and their hashes."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..support.errors import argument_error

FOLDER = Path(__file__).parent
_SENTENCE_END = re.compile(r"\.(?=\s|$)")
_REQUIRED = re.compile(r"From Kernel Require Import ([\w\s]+)\.")
_STATED = re.compile(r"(?:Theorem|Lemma|Corollary)\s+(\w+)\s*((?:[({].*?[)}]\s*)*):\s*(.*)", re.S)
_EXAMPLE = re.compile(r"Example\s+(\w+)\s*:\s*(.*?)\b(gives|bounds)\s+(\(.*)", re.S)
_DEFINED = re.compile(r"(?:Definition|Fixpoint)\s+(\w+)\s*(.*)", re.S)
_COMPUTES = "From Interval Require"
"""What a file says that computes with intervals, on Coq's primitive integers and floats."""
ASSUMES = frozenset(
    {"Admitted", "admit", "Axiom", "Axioms", "Parameter", "Parameters", "Conjecture", "Conjectures",
     "Hypothesis", "Hypotheses", "Variable", "Variables", "Primitive", "Unset", "bypass_check"}
)  # fmt: skip
"""Words by which a file could assume what it should prove, or turn off what checks it."""
PASSES = frozenset({"proj1", "proj2", "Rlt_le", "eq_trans", "eq_sym", "the_limit", "_"})
"""What hands on what another theorem says: a part of it, or the number that a limit is."""
_EXAMPLES_IN = "Numbers"
"""How the names of the files begin in which examples stand."""


@dataclass(frozen=True)
class Statement:
    """A theorem of the kernel as it is written: its name, its file, and what it says."""

    name: str
    file: str
    text: str


@dataclass(frozen=True)
class KernelExample:
    """A theorem at an example: the theorem that the proof term applies, and the numbers that both sides are.

    One number for an equality, two for a bound, as they are written.
    """

    name: str
    file: str
    theorem: str
    values: tuple[str, ...]


def required(path: Path) -> list[str]:
    """The files, by name, that a file requires."""
    return " ".join(_REQUIRED.findall(path.read_text(encoding="utf-8"))).split()


def paths(needed: Iterable[str] = ()) -> list[Path]:
    """The files, each after those that it requires; of those that are needed, by name, if any are named."""
    files = {path.stem: path for path in sorted(FOLDER.glob("*.v"))}
    ordered: list[Path] = []

    def add(name: str) -> None:
        for name_of in required(files[name]):
            add(name_of)
        if files[name] not in ordered:
            ordered.append(files[name])

    for name in needed or files:
        add(name)
    return ordered


def hashes() -> dict[str, str]:
    """The SHA-256 of each file, by its name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths()}


def without_comments(text: str) -> str:
    """The text of a file without its (nested) comments."""
    kept, depth = [], 0
    for piece in re.split(r"(\(\*|\*\))", text):
        depth += {"(*": 1, "*)": -1}.get(piece, 0)
        if not depth and piece != "*)":
            kept.append(piece)
    return "".join(kept)


def sentences(path: Path) -> list[str]:
    """The sentences of a file, without comments and without the full stops."""
    text = without_comments(path.read_text(encoding="utf-8"))
    return [sentence.strip() for sentence in _SENTENCE_END.split(text) if sentence.strip()]


def _of_theorems() -> list[Path]:
    return [path for path in paths() if not path.stem.startswith(_EXAMPLES_IN)]


@cache
def statements() -> Mapping[str, Statement]:
    """Every theorem, lemma and corollary by name, without what examples need."""
    found: dict[str, Statement] = {}
    for path in _of_theorems():
        for sentence in sentences(path):
            if match := _STATED.fullmatch(sentence):
                name, binders, text = match.groups()
                if name in found:
                    raise argument_error(name, path.name, f"another name, {found[name].file} has it")
                said = f"forall {binders.strip()}, {text}" if "(" in binders else text
                found[name] = Statement(name, path.name, said)
    return found


@cache
def by_computing() -> frozenset[str]:
    """The names of the theorems of files that compute with intervals: counterexamples."""
    computing = {path.name for path in _of_theorems() if _COMPUTES in path.read_text(encoding="utf-8")}
    return frozenset(name for name, each in statements().items() if each.file in computing)


@cache
def examples() -> Mapping[str, KernelExample]:
    """Every example by name; ValueError for one whose numbers are not there."""
    found: dict[str, KernelExample] = {}
    for path in paths():
        local: dict[str, str] = {}
        for sentence in sentences(path):
            if match := _DEFINED.fullmatch(sentence):
                local[match[1]] = _applied(match[2].partition(":=")[2], local)
            elif match := _EXAMPLE.fullmatch(sentence):
                name, _, relation, rest = match.groups()
                end = _closing(rest)
                values = tuple(word.strip("()") for word in rest[end:].split())
                if len(values) != {"gives": 1, "bounds": 2}[relation]:
                    raise argument_error(name, rest[end:], f"the numbers after a proof in {path.name}")
                found[name] = KernelExample(name, path.name, _applied(rest[:end], local), values)
    return found


def _applied(term: str, local: Mapping[str, str]) -> str:
    """The theorem that a term applies: its head, or that of what its head hands on, or was defined as."""
    names = (name for name in re.findall(r"[A-Za-z_][\w']*", term) if name not in PASSES)
    head = next(names, "")
    return local.get(head, head)


@cache
def assumed() -> tuple[str, ...]:
    """Where a file has a word of `ASSUMES`, or a context outside a section; nothing if all is proved."""
    found = []
    for path in paths():
        sections = 0
        for sentence in sentences(path):
            words = set(re.findall(r"\w+", sentence))
            sections += sentence.startswith("Section ") - (sentence.startswith("End ") and sections > 0)
            # What a section takes as given its theorems have as hypotheses once it has ended.
            said = words & ASSUMES | ({"Context"} & words if not sections else set())
            found += [f"{path.name} says {word}" for word in sorted(said)]
    return tuple(found)


def _closing(text: str) -> int:
    """Where the bracket that the text begins with has been closed."""
    depth = 0
    for place, sign in enumerate(text, 1):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if not depth:
            return place
    return len(text)


def statement(name: str) -> Statement:
    """The theorem of this name; ValueError for a name that no file has."""
    if name not in statements():
        raise argument_error("coq", name, f"a theorem of {', '.join(path.name for path in paths())}")
    return statements()[name]


def definition_texts() -> list[str]:
    """The definitions of the theorems as they are written, in the order of the files."""
    written = (sentence for path in _of_theorems() for sentence in sentences(path))
    return [f"{sentence}." for sentence in written if _DEFINED.fullmatch(sentence)]
