"""The registry: a folder is a chapter, a module a subject, its module-level entries the statements.

An entry's name is where it stands: `PASS_RATE = theorem(...)` in kl_control.py is `kl_control.pass_rate`.
Entries in one dictionary are named by its keys. Files whose names begin with _ hold what several modules
share.
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
        """Names that select all entries of the subject: its own and, inside a folder, the folder's."""
        return (self.name, self.folder) if self.folder else (self.name,)


def _entries(module: ModuleType, subject: str) -> Iterator[Theorem]:
    """Theorems of a module, named SUBJECT.VARIABLE (SUBJECT.KEY in a dictionary), in the module's order."""
    for variable, value in vars(module).items():
        entries = value if isinstance(value, dict) else {variable.lower(): value}
        for word, entry in entries.items():
            if isinstance(entry, Theorem):
                yield replace(entry, name=f"{subject}.{word}")


def _collect() -> tuple[Mapping[str, Theorem], Mapping[str, Subject]]:
    theorems: dict[str, Theorem] = {}
    subjects: dict[str, Subject] = {}
    for info in pkgutil.walk_packages(__path__, f"{__name__}."):
        *folders, subject = info.name.removeprefix(f"{__name__}.").split(".")
        if not info.ispkg and not subject.startswith("_"):
            module = importlib.import_module(info.name)
            title = (module.__doc__ or "").partition("\n")[0].removesuffix(".")
            subjects[subject] = Subject(subject, title, "".join(folders))
            theorems |= {entry.name: entry for entry in _entries(module, subject)}
    titled = {entry.subject: subjects[entry.subject] for entry in theorems.values()}
    return MappingProxyType(theorems), MappingProxyType(titled)


THEOREMS, SUBJECTS = _collect()
"""Every theorem by name, by chapter and module; and the modules that they stand in."""
