"""Everything the page tells, read from what the stages of a run have left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from toy_lm.experiments import EXPERIMENTS

from ..catalogue import NAMES, figure
from ..figure import Figure
from ..look.tables import Table
from ..results import store
from ..results.laws import Laws
from ..results.records import stored_name
from ..results.verdicts import AuditLine, TheoremReport, read_audit, read_verdicts
from .environment import environment
from .results import AUDIT, LAWS, VERDICTS, Plan

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """How a stage ended: "done", "reused" from an interrupted run, or "failed"; its seconds; what it says."""

    stage: str
    state: str
    seconds: float
    words: str
    trace: str = ""

    @property
    def failed(self) -> bool:
        """Whether it failed."""
        return self.state == "failed"


@dataclass(frozen=True)
class Plate:
    """A figure by name, with its record and its drawing as SVG; what there is not is None."""

    name: str
    figure: Figure[Any, Any] | None
    record: Record | None
    svg: bytes | None

    @property
    def table(self) -> Table | None:
        """The numbers of its record to quote."""
        if self.figure is None or self.record is None:
            return None
        return self.figure.numbers_to_quote(self.record)


@dataclass(frozen=True)
class Contents:
    """What a run found, reports by theorem and findings by experiment; what a stage left out is missing."""

    plan: Plan
    reports: Mapping[str, TheoremReport]
    audit: Sequence[AuditLine] | None
    experiments: Mapping[str, Sequence[str]]
    plates: Sequence[Plate]
    outcomes: Sequence[Outcome]
    environment: Mapping[str, str]
    laws: Laws | None = None

    @property
    def failures(self) -> list[Outcome]:
        """The stages that failed."""
        return [outcome for outcome in self.outcomes if outcome.failed]

    def words(self, stage: str) -> str:
        """What a stage said as it ended."""
        return next((o.words for o in self.outcomes if o.stage == stage), "it was not run")

    @classmethod
    def load(cls, plan: Plan, outcomes: Sequence[Outcome]) -> "Contents":
        """The contents from the results in the plan's folder."""
        records = {name: _record(plan, stored_name(name, plan.quick), f"toy.{name}") for name in EXPERIMENTS}
        verdicts = _record(plan, VERDICTS, f"report.{VERDICTS}")
        audit, laws = _record(plan, AUDIT, f"report.{AUDIT}"), _record(plan, LAWS, "laws")
        return cls(
            plan=plan,
            reports={} if verdicts is None else read_verdicts(verdicts),
            audit=None if audit is None else read_audit(audit),
            experiments={name: found["findings"] for name, found in records.items() if found is not None},
            plates=[_plate(plan, name) for name in NAMES],
            outcomes=tuple(outcomes),
            laws=None if laws is None else Laws.read(laws),
            environment=environment() | {"made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"},
        )


def _record(plan: Plan, name: str, kind: str) -> Record | None:
    there = (plan.results / f"{name}.json").is_file()
    return store.load(name, kind, plan.results) if there else None


def _plate(plan: Plan, name: str) -> Plate:
    try:
        found = figure(name)
    except Exception:  # Its stage met the same error, and told it.
        return Plate(name, None, None, None)
    return Plate(name, found, _record(plan, name, found.kind), _bytes(plan.results / f"{name}.svg"))


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
