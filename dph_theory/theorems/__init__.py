"""The registry: a file is a subject, its docstring names its families, its module-level entries are theirs.

A family stands in a module's docstring on a line of its own ("A5. Pass rate against beta."). What several
subjects share stands in the files whose names begin with _.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType, ModuleType

from ..verification.statement import Theorem

_FAMILY = re.compile(r"^([A-Z]\d+)\. (.*)[.]$", re.MULTILINE)


def _entries(module: ModuleType) -> Iterator[Theorem]:
    """The entries of a module, single or several in one tuple, as they stand in it."""
    for value in vars(module).values():
        yield from (t for t in (value if isinstance(value, tuple) else (value,)) if isinstance(t, Theorem))


def _order(family: str) -> tuple[str, int]:
    return family[0], int(family[1:])


def _collect() -> tuple[Mapping[str, Theorem], Mapping[str, str]]:
    theorems: dict[str, Theorem] = {}
    families: dict[str, str] = {}
    for info in pkgutil.walk_packages(__path__, f"{__name__}."):
        if info.name.rpartition(".")[2].startswith("_"):
            continue
        module = importlib.import_module(info.name)
        here = dict(_FAMILY.findall(module.__doc__ or ""))
        families |= here
        for theorem in _entries(module):
            if theorem.name in theorems or theorem.family not in here:
                raise ValueError(f"name={theorem.name!r} is not allowed: not a new name of {', '.join(here)}")
            theorems[theorem.name] = theorem
    ordered = dict(sorted(theorems.items(), key=lambda item: _order(item[1].family)))
    titles = {name: families[name] for name in sorted(families, key=_order)}
    return MappingProxyType(ordered), MappingProxyType(titles)


THEOREMS, FAMILIES = _collect()
"""Every theorem by name, in the order of the theory; and what each family is about."""
