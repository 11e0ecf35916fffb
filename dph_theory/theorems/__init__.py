"""The registry: a folder is a chapter, a module a subject, its module-level entries the statements.

An entry's name is where it stands: `PASS_RATE = theorem(...)` in kl_control.py is `kl_control.pass_rate`;
those in one tuple take the words of their labels. What several modules share stands in files whose names
begin with _.
"""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType, ModuleType

from ..verification.statement import Theorem


@dataclass(frozen=True)
class Subject:
    """A module of entries: its name, its title, and the folder that it stands in, if in one."""

    name: str
    title: str
    folder: str

    @property
    def groups(self) -> tuple[str, ...]:
        """The names that select all its entries."""
        return (self.name, self.folder) if self.folder else (self.name,)


def _entries(module: ModuleType, subject: str) -> Iterator[Theorem]:
    """The entries of a module under their names, single or several in one tuple, as they stand in it."""
    for variable, value in vars(module).items():
        entries = value if isinstance(value, tuple) else (value,)
        for entry in entries:
            if isinstance(entry, Theorem):
                word = variable.lower() if entry is value else entry.label.partition(".")[2]
                yield replace(entry, name=f"{subject}.{word}")


def _order(theorem: Theorem) -> tuple[str, int]:
    return theorem.label[0], int(theorem.family[1:])


def _collect() -> tuple[Mapping[str, Theorem], Mapping[str, Subject]]:
    entries: list[Theorem] = []
    subjects: dict[str, Subject] = {}
    for info in pkgutil.walk_packages(__path__, f"{__name__}."):
        *folders, subject = info.name.removeprefix(f"{__name__}.").split(".")
        if not info.ispkg and not subject.startswith("_"):
            module = importlib.import_module(info.name)
            title = (module.__doc__ or "").partition("\n")[0].removesuffix(".")
            subjects[subject] = Subject(subject, title, "".join(folders))
            entries += _entries(module, subject)
    theorems: dict[str, Theorem] = {}
    labels: dict[str, str] = {}
    for entry in sorted(entries, key=_order):
        if entry.name in theorems or entry.label in labels:
            raise ValueError(f"label={entry.label!r} is not allowed: it or {entry.name} is there twice")
        theorems[entry.name], labels[entry.label] = entry, entry.name
    titled = {entry.subject: subjects[entry.subject] for entry in theorems.values()}
    return MappingProxyType(theorems), MappingProxyType(titled)


THEOREMS, SUBJECTS = _collect()
"""Every theorem by name, in the order of the theory; and the modules that they stand in."""
