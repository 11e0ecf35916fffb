"""The part of an entry that Coq proves: its theorem, accepted by Coq, and its example's numbers."""

from decimal import Decimal

import numpy as np

from ..coq import sources
from ..coq.compilation import KernelExample, Record, recorded
from ..theorems import THEOREMS
from .statement import Theorem, Verdict


def tied_names() -> tuple[list[str], list[str]]:
    """Names of Coq theorems that entries cite: those that prove an entry, and those that refute one."""
    named = [(theorem.false, name) for theorem in THEOREMS.values() for name in theorem.coq.split()]
    return [name for false, name in named if not false], [name for false, name in named if false]


def examples_of(theorem: Theorem, record: Record) -> list[KernelExample]:
    """Coq examples that bear the entry's name: one, or one per component in order."""
    by_name: dict[str, list[KernelExample]] = {}
    for example in record.examples.values():
        by_name.setdefault(example.name.rpartition(".")[2], []).append(example)
    name = theorem.name.replace(".", "_")
    numbered = (f"{name}_{number}" for number in range(1, len(by_name) + 1))
    return by_name.get(name) or [example for other in numbered for example in by_name.get(other, [])]


def untied(theorem: Theorem, record: Record | None = None) -> list[str]:
    """Reasons why Coq does not prove what an entry says that it proves; [] if it does.

    The whole of a statement needs an example beside its theorem, proved from it, so that the theorem is not
    vacuous and speaks of both sides; with the digits that the entry's first example keeps.
    """
    if not theorem.coq:
        return []
    record = recorded() if record is None else record
    if record.files != sources.hashes():
        return ["the record is of other files: run docs/generate.py where Coq is"]
    declared = {name: record.named(name) for name in theorem.coq.split()}
    if odd := [f"{len(full)} theorems {name}" for name, full in declared.items() if len(full) != 1]:
        return [f"the kernel has {' and '.join(odd)}, not one"]
    names, kernel_examples = [full for (full,) in declared.values()], examples_of(theorem, record)
    reasons = [
        f"{axiom} is not allowed below it" for axiom in record.not_allowed(names, computing=theorem.false)
    ]
    if theorem.expected is Verdict.PROVED and not kernel_examples:
        reasons.append(f"the kernel has no example of {theorem.coq} for it")
    for example in kernel_examples:
        if not {*example.theorems} <= {*names}:
            reasons.append(f"{example.name} is not of {theorem.coq}, but of {', '.join(example.theorems)}")
        axioms = record.not_allowed([example.name], computing=True)
        reasons += [f"{axiom} is not allowed below {example.name}" for axiom in axioms]
    return reasons + (_other_digits(theorem, kernel_examples) if kernel_examples else [])


def _other_digits(theorem: Theorem, kernel_examples: list[KernelExample]) -> list[str]:
    """Sentences on digits of an entry's first example that differ from those of the Coq examples."""
    sides = [side for side in (theorem.examples[0].lhs, theorem.examples[0].rhs) if side is not None]
    if len(sides) != 2:
        return [f"the first example keeps no values, and the kernel's {kernel_examples[0].name} does"]
    written = [
        example.values * 2 if len(example.values) == 1 else example.values for example in kernel_examples
    ]
    rows = list(zip(*np.broadcast_arrays(*(side.ravel() for side in sides)), strict=True))
    # One number may be written for several components that are alike.
    number = max(len(rows), len(written))
    if {len(rows), len(written)} - {1, number}:
        return [f"{len(rows)} components are kept, and {len(written)} examples in the kernel"]
    rows, written = (pairs * number if len(pairs) == 1 else pairs for pairs in (rows, written))
    return [
        f"the entry keeps {' and '.join(row)}, the kernel's {kernel_examples[0].name} {' and '.join(values)}"
        for row, values in zip(rows, written, strict=True)
        if [Decimal(str(word)) for word in row] != [*map(Decimal, values)]
    ]
