"""What verification found about a theorem and its false neighbours, as values and as plain data."""

from dataclasses import asdict, dataclass
from typing import Any

from ..statement.theorem import Verdict
from .checks.result import CheckResult, Enclosed
from .proofs.decision import Decision


@dataclass(frozen=True)
class Timed:
    """A check's result and how long it took."""

    result: CheckResult
    seconds: float


@dataclass(frozen=True)
class NeighbourReport:
    """Whether a false neighbour was refuted, by which checks, and the first witness."""

    name: str
    refuted: bool
    found_by: tuple[str, ...]
    witness: dict[str, Any] | None
    certain_within: int | None = None
    """The k for which the violation is certain at all x (1 +- 2^-k), x the witness; None if at none."""
    box_asked: bool = False
    """Whether such a box has to be found: in the long form, next to a statement that is enclosed."""

    @property
    def as_expected(self) -> bool:
        """Whether it fell, and on a whole box where that is asked."""
        return self.refuted and (self.certain_within is not None or not self.box_asked)


@dataclass(frozen=True)
class Report:
    """What verification found about one theorem."""

    theorem: str
    source: str
    expected: Verdict
    verdict: Verdict
    checks: tuple[Timed, ...]
    neighbours: tuple[NeighbourReport, ...]
    given: tuple[str, ...] = ()
    """The entries that a proof leans on."""
    tight: bool | None = None
    """Whether a bound called tight was nearly attained; None where it is not called so or not searched."""

    @property
    def claims(self) -> tuple[Decision, ...]:
        """The steps of the derivation, each with who decided it."""
        return tuple(claim for timed in self.checks for claim in timed.result.claims)

    @property
    def boxes(self) -> tuple[Enclosed, ...]:
        """The boxes on which the statement was decided as a whole."""
        return tuple(box for timed in self.checks for box in timed.result.boxes)

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the expected one, every false neighbour fell, and tight bounds are tight."""
        fell = all(n.as_expected for n in self.neighbours)
        return self.verdict is self.expected and fell and self.tight is not False

    @property
    def seconds(self) -> float:
        """The time of the checks on the theorem itself."""
        return sum(timed.seconds for timed in self.checks)

    def as_json(self) -> dict[str, Any]:
        """The report as plain data, in the documented keys."""
        return {
            "theorem": self.theorem,
            "source": self.source,
            "expected": str(self.expected),
            "verdict": str(self.verdict),
            "given": list(self.given),
            "tight": self.tight,
            "checks": [
                {
                    "check": timed.result.check,
                    "verdict": str(timed.result.verdict),
                    "instances": timed.result.instances,
                    "worst_violation": timed.result.worst_violation,
                    "tightness": timed.result.tightness,
                    "witness": timed.result.witness,
                    "seed": timed.result.seed,
                    "seconds": timed.seconds,
                    "claims": [claim.as_json() for claim in timed.result.claims],
                    "boxes": [asdict(box) for box in timed.result.boxes],
                }
                for timed in self.checks
            ],
            "false_neighbours": [
                {
                    "name": n.name,
                    "refuted": n.refuted,
                    "found_by": ", ".join(n.found_by),
                    "witness": n.witness,
                    "certain_within": None if n.certain_within is None else 2.0**-n.certain_within,
                }
                for n in self.neighbours
            ],
        }
