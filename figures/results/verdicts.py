"""The verdicts and the audit of a run, read from their records as frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dph_theory.support.frozen import from_json


@dataclass(frozen=True, kw_only=True)
class Check:
    """What one check found: the largest gap by which it missed, and its witness."""

    check: str
    verdict: str
    instances: int
    seconds: float
    worst_violation: float | None = None
    tightness: float | None = None
    witness: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """Whether a false neighbour of a theorem was refuted, and by which checks."""

    name: str
    refuted: bool
    found_by: str
    witness: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class TheoremReport:
    """What verification found about a theorem; `dph_theory.verification.reports.Report` after a file."""

    theorem: str
    expected: str
    verdict: str
    checks: tuple[Check, ...]
    false_neighbours: tuple[Neighbour, ...]
    tight: bool | None = None

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the expected one, every false neighbour fell, and tight bounds are tight."""
        fell = all(neighbour.refuted for neighbour in self.false_neighbours)
        return self.verdict == self.expected and fell and self.tight is not False

    @property
    def worst(self) -> float | None:
        """The largest gap by which any check of the theorem missed it; None if no check has one."""
        gaps = [check.worst_violation for check in self.checks if check.worst_violation is not None]
        return max(gaps, default=None)


@dataclass(frozen=True, kw_only=True)
class AuditLine:
    """What the audit found of one published form, in words."""

    form: str
    samples: str
    value: str
    gradient: str
    minimiser: str
    variance: str
    dead_zones: str


@dataclass(frozen=True)
class _Verdicts:
    reports: tuple[TheoremReport, ...]


@dataclass(frozen=True)
class _Audit:
    forms: tuple[AuditLine, ...]


def read_verdicts(record: Mapping[str, Any]) -> dict[str, TheoremReport]:
    """The reports of a record of verdicts, by theorem; ValueError names what it lacks."""
    return {report.theorem: report for report in from_json(_Verdicts, record["results"]).reports}


def read_audit(record: Mapping[str, Any]) -> tuple[AuditLine, ...]:
    """The lines of a record of the audit; ValueError names what it lacks."""
    return from_json(_Audit, record["results"]).forms
