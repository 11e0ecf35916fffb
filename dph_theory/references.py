"""The papers, each under one key; every statement, docstring and recipe cites papers by key."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .support.errors import choice


@dataclass(frozen=True)
class Reference:
    """One paper: its key, authors, title and address."""

    key: str
    authors: str
    title: str
    where: str

    @property
    def names(self) -> tuple[str, ...]:
        """Names that select the paper: its key, the first author's surname, its arXiv number."""
        surname = re.sub(r"^(?:\w\. )+", "", self.authors.partition(" et al.")[0].partition(",")[0])
        return (self.key, surname, *re.findall(r"\d{4}\.\d{5}", self.where))


@dataclass(frozen=True)
class Source:
    """Origin of a statement: a reference key, the section if known, and our figure of it if there is one."""

    key: str
    place: str = ""
    figure: str = ""

    def __post_init__(self) -> None:
        choice("key", self.key, REFERENCES)

    @property
    def names(self) -> tuple[str, ...]:
        """Names that select the source: its paper's names, its places, and 3.1 for a place 3.1a."""
        places = [part.strip() for part in self.place.split(";") if part]
        theorems = [place[:-1] for place in places if re.fullmatch(r".*\d[a-z]", place)]
        return (*REFERENCES[self.key].names, *places, *theorems)

    def __str__(self) -> str:
        return f"{self.key}, {self.place}" if self.place else self.key


_LINES = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
_ROWS = [line.split(" | ") for line in _LINES if line and not line.startswith("#")]
REFERENCES: Final[dict[str, Reference]] = {key: Reference(key, *words) for key, *words in _ROWS}
"""The papers of references.txt by key, in its order."""
