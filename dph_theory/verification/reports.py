"""What verification found about a theorem and its false neighbours, as values and as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..statement.theorem import Verdict
from ..support.record import as_json
from .checks.result import CheckResult, Enclosed
from .proofs.decision import Decision

TIGHT = 0.98
"""The ratio of a tight bound's sides that its kept instance must reach."""


@dataclass(frozen=True)
class NeighbourReport:
    """Where a false neighbour was refuted, and by what: "balls", "floats", or "" if it was not."""

    name: str
    refuted_by: str
    witness: dict[str, Any] | None
    certain_within: int | None = None
    """The k for which the violation is certain at all x (1 +- 2^-k), x the witness; None if at none."""
    box_asked: bool = False
    """Whether such a box has to be found: in the long form, next to a statement that is enclosed."""

    @property
    def refuted(self) -> bool:
        """Whether it fails at its witness."""
        return bool(self.refuted_by)

    @property
    def as_expected(self) -> bool:
        """Whether it fails, and on a whole box where that is asked."""
        return self.refuted and (self.certain_within is not None or not self.box_asked)


@dataclass(frozen=True)
class Report:
    """What verification found about one theorem."""

    theorem: str
    source: str
    expected: Verdict
    verdict: Verdict
    checks: tuple[CheckResult, ...]
    false_neighbours: tuple[NeighbourReport, ...]
    given: Mapping[str, Verdict] = field(default_factory=dict)
    """The entries that a derivation rests on, each with the verdict expected of it."""
    tight: float | None = None
    """The ratio of a tight bound's sides at its kept instance; None for others."""
    wrong_values: tuple[str, ...] = ()
    """Values kept with examples that the sides do not give."""

    @property
    def steps(self) -> tuple[Decision, ...]:
        """The derivation: claims with who decided them, false steps, and sentences, in order."""
        return tuple(step for result in self.checks for step in result.steps)

    @property
    def claims(self) -> tuple[Decision, ...]:
        """The claims of the derivation alone."""
        return tuple(step for step in self.steps if step.kind == "claim")

    @property
    def boxes(self) -> tuple[Enclosed, ...]:
        """The boxes on which the statement was decided as a whole."""
        return tuple(box for result in self.checks for box in result.boxes)

    @property
    def unexpected(self) -> tuple[str, ...]:
        """All that is not as expected, in words."""
        found = list(self.wrong_values)
        if self.verdict is not self.expected:
            found.append(f"{self.verdict}, expected {self.expected}")
            found += [f"{result.check}: {result.detail}" for result in self.checks if result.detail]
        if self.tight is not None and not self.tight > TIGHT:
            found.append(f"called tight, and its sides are in the ratio {self.tight:.4g} where they meet")
        for neighbour in self.false_neighbours:
            if not neighbour.as_expected:
                where = "certain to fail on no box around its witness" if neighbour.refuted else "not refuted"
                found.append(f"false neighbour {where}: {neighbour.name}")
        return tuple(found)

    @property
    def as_expected(self) -> bool:
        """Whether nothing is unexpected: the verdict, every false neighbour, tight bounds, kept values."""
        return not self.unexpected

    @property
    def worst(self) -> float | None:
        """The largest gap by which any check missed the theorem; None if none measures it."""
        return max((r.worst_violation for r in self.checks if r.worst_violation is not None), default=None)

    @property
    def seconds(self) -> float:
        """The time of the checks on the theorem itself."""
        return sum(result.seconds for result in self.checks)

    def as_json(self) -> dict[str, Any]:
        """The report as plain data, which `support.frozen.from_json(Report, ...)` reads back."""
        judged = {"as_expected": self.as_expected, "unexpected": list(self.unexpected)}
        return {**as_json(self), **judged}
