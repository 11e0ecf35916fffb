"""The registry: every statement is one value, THEOREM, in a file of its own; adding one is a line here."""

import importlib
from collections.abc import Mapping
from types import MappingProxyType

from ..theorem import Theorem

MODULES = (
    "a05_validity",
    "a08_decomposition",
    "a08_frontier",
    "c02_stated",
)
"""The files of this folder, in the order of the theory."""


def _collect() -> Mapping[str, Theorem]:
    theorems: dict[str, Theorem] = {}
    for module in MODULES:
        theorem = importlib.import_module(f"{__name__}.{module}").THEOREM
        if theorem.name in theorems:
            raise ValueError(f"name={theorem.name!r} is not allowed: already registered")
        theorems[theorem.name] = theorem
    return MappingProxyType(theorems)


THEOREMS = _collect()
"""Every theorem by name, in the order of the theory."""
