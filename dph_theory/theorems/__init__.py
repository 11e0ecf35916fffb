"""The registry: a file is a family of statements, its module-level entries are theirs, in order.

A module's docstring begins with the family's name and title ("A5. Pass rate against beta."). What several
families share stands in the files whose names begin with _.
"""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import MappingProxyType, ModuleType

from ..statement.theorem import Theorem


def _entries(module: ModuleType) -> Iterator[Theorem]:
    """The entries of a module, single or several in one tuple, as they stand in it."""
    for value in vars(module).values():
        yield from (t for t in (value if isinstance(value, tuple) else (value,)) if isinstance(t, Theorem))


def _collect() -> tuple[Mapping[str, Theorem], Mapping[str, str]]:
    theorems: dict[str, Theorem] = {}
    families: dict[str, str] = {}
    for info in pkgutil.iter_modules(__path__):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"{__name__}.{info.name}")
        family, _, title = (module.__doc__ or "").partition("\n")[0].partition(". ")
        families[family] = title.rstrip(".")
        for theorem in _entries(module):
            if theorem.name in theorems or theorem.family != family:
                raise ValueError(f"name={theorem.name!r} is not allowed: not a new name of family {family}")
            theorems[theorem.name] = theorem
    return MappingProxyType(theorems), MappingProxyType(families)


THEOREMS, FAMILIES = _collect()
"""Every theorem by name, in the order of the theory; and what each family is about."""
