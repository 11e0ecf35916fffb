"""What the proof kernel has of an entry: its theorem, accepted by Coq, and its example's numbers."""

from decimal import Decimal

import numpy as np

from ..coq import compiler, sources
from ..coq.sources import KernelExample
from .statement import Theorem, Verdict


def examples_of(theorem: Theorem) -> list[KernelExample]:
    """The kernel's examples that bear the entry's name: one, or one for each component in turn."""
    found, name = sources.examples(), theorem.name.replace(".", "_")
    if name in found:
        return [found[name]]
    numbered = (f"{name}_{number}" for number in range(1, len(found) + 1))
    return [found[each] for each in numbered if each in found]


def untied(theorem: Theorem) -> list[str]:
    """Why the kernel does not prove what an entry says that it does; nothing if it does.

    The whole of a statement needs an example beside its theorem, proved from it, so that the theorem is not
    vacuous and speaks of both sides; with the digits that the entry's first example keeps.
    """
    if not theorem.coq:
        return []
    names = {*theorem.coq.split()}
    if passing := names & sources.PASSES:
        return [f"{', '.join(sorted(passing))} hands on what another theorem says, and is none"]
    if missing := names - sources.statements().keys():
        return [f"the kernel has no theorem {' and no '.join(sorted(missing))}"]
    found = list(compiler.unaccepted())
    kept = examples_of(theorem)
    if theorem.expected is Verdict.PROVED and not kept:
        found.append(f"the kernel has no example of {theorem.coq} for it")
    found += [f"{each.name} is not of {theorem.coq}" for each in kept if each.theorem not in names]
    return found + (_other_digits(theorem, kept) if kept else [])


def _other_digits(theorem: Theorem, kept: list[KernelExample]) -> list[str]:
    """Where the digits of an entry's first example are not those of the kernel's examples."""
    sides = [side for side in (theorem.examples[0].lhs, theorem.examples[0].rhs) if side is not None]
    if len(sides) != 2:
        return [f"the first example keeps no values, and the kernel's {kept[0].name} does"]
    said = [each.values * 2 if len(each.values) == 1 else each.values for each in kept]
    rows = list(zip(*np.broadcast_arrays(*(side.ravel() for side in sides)), strict=True))
    # One number may be written for several components that are alike.
    number = max(len(rows), len(said))
    if {len(rows), len(said)} - {1, number}:
        return [f"{len(rows)} components are kept, and {len(said)} examples in the kernel"]
    rows, said = (pairs * number if len(pairs) == 1 else pairs for pairs in (rows, said))
    return [
        f"the entry keeps {' and '.join(row)}, the kernel's {kept[0].name} {' and '.join(values)}"
        for row, values in zip(rows, said, strict=True)
        if [Decimal(str(word)) for word in row] != [*map(Decimal, values)]
    ]
