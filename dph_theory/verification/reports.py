"""Request and findings of a verification, as plain values; nothing heavy is loaded."""

from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import Any

from ..support.errors import argument_error
from ..support.record import as_json

INSTANCES, QUICK_INSTANCES = 100_000, 1_000
"""Random test cases a theorem, in the long form and in the short one."""
FEWEST = 200
"""So many are tried at least, where test cases are costly and a theorem asks for a share of them."""


@dataclass(frozen=True)
class SearchSettings:
    """Length of a search: random test cases, the optimiser's population, generations and polish; the seed."""

    instances: int = INSTANCES
    population: int = 128
    generations: int = 60
    seed: int = 0
    polish: int = 25

    def __post_init__(self) -> None:
        if self.instances < 1:
            raise argument_error("instances", self.instances, "at least 1")
        if self.seed < 0:
            raise argument_error("seed", self.seed, "at least 0")

    def part(self, share: float) -> "SearchSettings":
        """Settings with that share of the test cases and optimiser steps, but at least a few."""
        few = min(self.instances, FEWEST)
        fewer = {
            "instances": max(few, ceil(share * self.instances)),
            "population": max(min(self.population, 16), ceil(sqrt(share) * self.population)),
            "generations": max(min(self.generations, 2), ceil(sqrt(share) * self.generations)),
            "polish": max(min(self.polish, 2), ceil(sqrt(share) * self.polish)),
        }
        return replace(self, **fewer)


def settings_for(*, instances: int | None = None, seed: int = 0, quick: bool = False) -> SearchSettings:
    """Settings of the full or the quick search, with that number of random test cases and seed."""
    if quick:
        return SearchSettings(QUICK_INSTANCES if instances is None else instances, 64, 5, seed)
    return SearchSettings(INSTANCES if instances is None else instances, seed=seed)


@dataclass(frozen=True)
class NeighbourReport:
    """True if a false variant failed at its stored test case."""

    name: str
    refuted: bool


@dataclass(frozen=True)
class Report:
    """The findings of a verification about one theorem.

    `instances` were tried in floats, and `worst` is the largest gap by which one missed the statement, with
    the `witness` of a violation; `unexpected` is all that is not as expected, in words.
    """

    theorem: str
    expected: str
    verdict: str
    instances: int
    worst: float
    false_neighbours: tuple[NeighbourReport, ...]
    unexpected: tuple[str, ...]
    seconds: float
    witness: dict[str, Any] | None = None

    @property
    def as_expected(self) -> bool:
        """True if nothing is unexpected: the status, the stored values, every false variant, Coq."""
        return self.verdict == self.expected and not self.unexpected

    @property
    def fallen(self) -> int:
        """Number of false variants that were refuted."""
        return sum(neighbour.refuted for neighbour in self.false_neighbours)

    def as_json(self) -> dict[str, Any]:
        """The report as plain data, which `support.record.from_json(Report, ...)` reads back."""
        return {**as_json(self), "as_expected": self.as_expected}
