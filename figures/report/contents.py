"""Everything the page tells, read from what the stages of a run have left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dph_theory.support.table import Table
from dph_theory.verification.reports import Report
from toy_lm.experiments import EXPERIMENTS

from .. import records
from ..catalogue import NAMES, figure
from ..figure import Figure
from ..records import AuditLine, Laws, read_audit, read_verdicts
from .results import AUDIT, LAWS, VERDICTS, Plan, environment

Record = Mapping[str, Any]


@dataclass(frozen=True)
class StageEnd:
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
class DrawnFigure:
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
    """What a run found, reports by theorem and records by name; what a stage left out is missing."""

    plan: Plan
    reports: Mapping[str, Report]
    audit: Sequence[AuditLine] | None
    records: Mapping[str, Record]
    figures: Sequence[DrawnFigure]
    outcomes: Sequence[StageEnd]
    environment: Mapping[str, str]
    laws: Laws | None = None

    @property
    def failures(self) -> list[StageEnd]:
        """The stages that failed."""
        return [outcome for outcome in self.outcomes if outcome.failed]

    def words(self, stage: str) -> str:
        """What a stage said as it ended."""
        return next((o.words for o in self.outcomes if o.stage == stage), "it was not run")

    @classmethod
    def load(cls, plan: Plan, outcomes: Sequence[StageEnd]) -> "Contents":
        """The contents from the results in the plan's folder."""
        kinds = {name: f"toy.{name}" for name in EXPERIMENTS}
        kinds |= {VERDICTS: f"report.{VERDICTS}", AUDIT: f"report.{AUDIT}", LAWS: "laws"}
        found = {name: _record(plan, plan.file(name), kind) for name, kind in kinds.items()}
        records = {name: record for name, record in found.items() if record is not None}
        return cls(
            plan=plan,
            reports=read_verdicts(records[VERDICTS]) if VERDICTS in records else {},
            audit=read_audit(records[AUDIT]) if AUDIT in records else None,
            records=records,
            figures=[_drawn_figure(plan, name) for name in NAMES],
            outcomes=tuple(outcomes),
            laws=Laws.read(records[LAWS]) if LAWS in records else None,
            environment=environment() | {"made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"},
        )


def _record(plan: Plan, name: str, kind: str) -> Record | None:
    there = (plan.results / f"{name}.json").is_file()
    return records.load(name, kind, plan.results) if there else None


def _drawn_figure(plan: Plan, name: str) -> DrawnFigure:
    try:
        found = figure(name)
    except Exception:  # Its stage met the same error, and told it.
        return DrawnFigure(name, None, None, None)
    svg = plan.results / f"{name}.svg"
    return DrawnFigure(
        name, found, _record(plan, name, found.kind), svg.read_bytes() if svg.is_file() else None
    )
