"""What the proof kernel has of an entry: its theorem, accepted by Coq, and its example's numbers."""

from decimal import Decimal

import numpy as np

from ..coq import compiler, sources
from ..coq.sources import KernelExample
from .statement import Theorem, Verdict


def examples_of(theorem: Theorem) -> list[KernelExample]:
    """The kernel's examples that bear the entry's name: one, or one for each component in turn."""
    kernel_examples, name = sources.examples(), theorem.label.replace(".", "_")
    if name in kernel_examples:
        return [kernel_examples[name]]
    numbered = (f"{name}_{number}" for number in range(1, len(kernel_examples) + 1))
    return [kernel_examples[numbered_name] for numbered_name in numbered if numbered_name in kernel_examples]


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
    reasons = list(compiler.unaccepted())
    kernel_examples = examples_of(theorem)
    if theorem.expected is Verdict.PROVED and not kernel_examples:
        reasons.append(f"the kernel has no example of {theorem.coq} for it")
    reasons += [
        f"{example.name} is not of {theorem.coq}"
        for example in kernel_examples
        if example.theorem not in names
    ]
    return reasons + (_other_digits(theorem, kernel_examples) if kernel_examples else [])


def _other_digits(theorem: Theorem, kernel_examples: list[KernelExample]) -> list[str]:
    """Where the digits of an entry's first example are not those of the kernel's examples."""
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
