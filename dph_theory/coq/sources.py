"""The files of the proofs: which requires which, and their hashes."""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent
APPLIED = FOLDER / "applied.ltac2"
"""Script that reads from the term of an example which theorems it applies."""
_REQUIRED = re.compile(r"From Kernel Require Import ([\w\s]+)\.")


def required(path: Path) -> list[str]:
    """Names of the Coq files that a file requires."""
    return " ".join(_REQUIRED.findall(path.read_text(encoding="utf-8"))).split()


def paths(needed: Iterable[str] = ()) -> list[Path]:
    """Paths of the Coq files, each after those it requires; of `needed` files only, if any are named."""
    files = {path.stem: path for path in sorted(FOLDER.glob("*.v"))}
    ordered: list[Path] = []

    def add(name: str) -> None:
        if files[name] not in ordered:
            for before in required(files[name]):
                add(before)
            ordered.append(files[name])

    for name in needed or files:
        add(name)
    return ordered


def hashes() -> dict[str, str]:
    """SHA-256 of each Coq file, by file name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (*paths(), APPLIED)}
