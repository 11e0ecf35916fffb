"""The record of the last compilation: what Coq printed of theorems, definitions, examples and axioms.

It says which version of Coq accepted which files (by SHA-256), and is worth something for these alone.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache

from . import sources
from .compiler import ALLOWED

RECORD = sources.FOLDER / "record.json"
QUALIFIED = re.compile(r"[^\W\d][\w']*(?:\.[^\W\d][\w']*)+")
"""A name as Coq prints it where nothing is imported; those of bound variables have no dot."""
OF_EXAMPLES = ("Kernel.Numbers.gives", "Kernel.Numbers.bounds", "Kernel.Numbers.the_limit")
"""Predicates of examples: both sides of a proof are a number, and a limit as an equality."""
REALS, PRIMITIVES = (
    frozenset(f"{module}.{name}" for module, names in group.items() for name in names.split())
    for group in (ALLOWED["axioms"]["reals"], ALLOWED["axioms"]["primitives"])
)
"""The axioms of Coq's classical real numbers, and those of the machine's integers and floats."""


@dataclass(frozen=True)
class Printed:
    """A theorem or a definition as Coq prints it, after all sections have been closed.

    readable: with the notations of Coq's reals; closed: without any, with all arguments, names qualified.
    """

    readable: str
    closed: str


@dataclass(frozen=True)
class KernelExample:
    """Theorems that the proof of an example applies, and the numbers of both sides: one, or one each."""

    name: str
    theorems: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True)
class Record:
    """Output of Coq, by names in full; `paths` has them for the qualified names in print.

    axioms: those below each theorem and example, or below several that were asked about together.
    """

    coq: str
    files: Mapping[str, str]
    theorems: Mapping[str, Printed]
    definitions: Mapping[str, Printed]
    examples: Mapping[str, KernelExample]
    paths: Mapping[str, str]
    axioms: Mapping[str, tuple[str, ...]]
    seconds: float = field(default=0.0, compare=False)

    def named(self, name: str) -> list[str]:
        """Full names of the theorems with this short name: one, unless several files have one."""
        return [full for full in self.theorems if full.rpartition(".")[2] == name]

    def closed_form(self, theorem: str) -> list[str]:
        """Texts of a theorem and of all definitions that it, or an example's statement, depends on."""
        closed, pending = dict[str, str](), [theorem, *OF_EXAMPLES]
        while pending:
            full = pending.pop()
            if full not in closed:
                printed = self.theorems.get(full) or self.definitions.get(full)
                closed[full] = printed.closed if printed else ""
                pending += [self.paths[name] for name in QUALIFIED.findall(closed[full])]
        return [f"{full} : {text}" for full, text in sorted(closed.items())]

    def not_allowed(self, names: Iterable[str], *, computing: bool) -> list[str]:
        """Axioms below the named theorems or examples that are not allowed; `computing` allows primitives."""
        allowed = REALS | PRIMITIVES if computing else REALS
        return sorted({axiom for name in names for axiom in self.axioms[name]} - allowed)

    def summary(self) -> str:
        """Lines: how many files are compiled, and the axioms that theorems and examples rest on."""
        changed = [name for name, hash in sources.hashes().items() if self.files.get(name) != hash]
        # One of the files is not a proof, but what reads examples.
        computed = sum(bool(self.not_allowed([name], computing=False)) for name in self.theorems)
        lines = [
            f"  {len(self.files) - 1} files accepted by Coq {self.coq}",
            f"  {len(self.theorems) - computed} theorems rest on {', '.join(sorted(REALS))}",
            f"  {computed} counterexamples and {len(self.examples)} examples rest on {len(self.computing)} "
            "primitives of Coq besides",
        ]
        lines += [f"  not these files: {', '.join(sorted(changed))}"] if changed else []
        beyond = self.not_allowed(self.axioms, computing=True)
        return "\n".join(lines + ([f"  not allowed: {', '.join(beyond)}"] if beyond else []))

    @property
    def computing(self) -> list[str]:
        """Axioms that examples and counterexamples rest on besides the classical reals."""
        return self.not_allowed(self.axioms, computing=False)

    def write(self) -> None:
        """Write the record file; axioms are stored once for all names that rest on the same."""
        below: dict[tuple[str, ...], list[str]] = {}
        for name, axioms in self.axioms.items():
            below.setdefault(axioms, []).append(name)
        stored = asdict(self) | {"axioms": [{"below": below[axioms], "axioms": axioms} for axioms in below]}
        del stored["seconds"]
        RECORD.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@cache
def recorded() -> Record:
    """Return the last stored compilation."""
    stored = json.loads(RECORD.read_text(encoding="utf-8"))
    for kind in ("theorems", "definitions"):
        stored[kind] = {name: Printed(**printed) for name, printed in stored[kind].items()}
    for name, example in stored["examples"].items():
        stored["examples"][name] = KernelExample(name, tuple(example["theorems"]), tuple(example["values"]))
    groups = stored["axioms"]
    return Record(**stored | {"axioms": {name: tuple(g["axioms"]) for g in groups for name in g["below"]}})
