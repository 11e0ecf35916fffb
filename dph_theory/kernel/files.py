"""The files of the kernel: their statements and definitions as they are written, and their hashes."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..support.errors import argument_error
from .grammar import Term, definition, term, without_comments

FOLDER = Path(__file__).parent
FORBIDDEN = (
    "Admitted",
    "admit",
    "Axiom",
    "Axioms",
    "Parameter",
    "Parameters",
    "Conjecture",
    "Hypothesis",
    "Variable",
)
"""Words by which a file could assume what it should prove."""
_SENTENCE_END = re.compile(r"\.(?=\s|$)")
_STATED = re.compile(r"(?:Theorem|Lemma|Corollary)\s+(\w+)\s*(?:\{\w+\}\s*)?:\s*(.*)", re.S)
_DEFINED = re.compile(r"(?:Definition|Fixpoint)\s+(\w+)\s*(.*)", re.S)


@dataclass(frozen=True)
class Statement:
    """A theorem of the kernel as it is written: its name, its file, and what it says."""

    name: str
    file: str
    text: str

    @property
    def term(self) -> Term:
        """What it says, read."""
        return term(self.text)


def paths() -> list[Path]:
    """The files, each after those that it requires."""
    files = {path.stem: path for path in sorted(FOLDER.glob("*.v"))}
    ordered: list[Path] = []

    def add(name: str) -> None:
        for line in re.findall(
            r"From Kernel Require Import ([\w ]+)\.", files[name].read_text(encoding="utf-8")
        ):
            for required in line.split():
                add(required)
        if files[name] not in ordered:
            ordered.append(files[name])

    for name in files:
        add(name)
    return ordered


def hashes() -> dict[str, str]:
    """The SHA-256 of each file, by its name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths()}


def sentences(path: Path) -> list[str]:
    """The sentences of a file, without comments and without the full stops."""
    text = without_comments(path.read_text(encoding="utf-8"))
    return [sentence.strip() for sentence in _SENTENCE_END.split(text) if sentence.strip()]


@cache
def statements() -> Mapping[str, Statement]:
    """Every theorem, lemma and corollary by name."""
    found: dict[str, Statement] = {}
    for path in paths():
        for sentence in sentences(path):
            if match := _STATED.fullmatch(sentence):
                name, text = match.groups()
                if name in found:
                    raise argument_error(name, path.name, f"another name, {found[name].file} has it")
                found[name] = Statement(name, path.name, text)
    return found


@cache
def definitions() -> Mapping[str, tuple[tuple[str, ...], Term]]:
    """The arguments and the body of each definition, by name."""
    matches = (_DEFINED.fullmatch(sentence) for path in paths() for sentence in sentences(path))
    return {match[1]: definition(match[2]) for match in matches if match}


def statement(name: str) -> Statement:
    """The theorem of this name; ValueError for a name that no file has."""
    if name not in statements():
        raise argument_error("kernel", name, f"a theorem of {', '.join(path.name for path in paths())}")
    return statements()[name]


def definition_texts() -> list[str]:
    """The definitions as they are written, in the order of the files."""
    written = (sentence for path in paths() for sentence in sentences(path))
    return [f"{sentence}." for sentence in written if _DEFINED.fullmatch(sentence)]
