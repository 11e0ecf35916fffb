"""The report: one self-contained page of what a reproduction found, made from a template."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dph_theory.theorems import THEOREMS

from .catalogue import NAMES, Figure, figure
from .frames import Records


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


class DrawnFigure(NamedTuple):
    """A figure with its drawing as SVG and its table; what could not be made is None."""

    figure: Figure
    svg: Markup | None
    table: Markup | None


def drawn_figures(records: Records, svg: Mapping[str, bytes]) -> list[DrawnFigure]:
    """The figures in order, with the drawings that there are and their tables."""
    pictures = []
    for name in NAMES:
        one, drawn = figure(name), name in svg
        picture = Markup(svg[name][svg[name].index(b"<svg") :].decode()) if drawn else None
        table = Markup(one.table(one.numbers(records)).html()) if drawn else None
        pictures.append(DrawnFigure(one, picture, table))
    return pictures


def page(
    verdicts: Mapping[str, Any] | None,
    drawn: Sequence[DrawnFigure],
    findings: Mapping[str, Sequence[str]],
    outcomes: Sequence[StageEnd],
    facts: Mapping[str, object],
) -> str:
    """The whole document: statements, figures, what each experiment found, and the stages of the run.

    `verdicts` is the record of the verification, None where that failed; `facts` are seed and versions.
    """
    reports = [] if verdicts is None else verdicts["results"]["reports"]
    loader = PackageLoader("figures", "templates")
    words = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    words.trim_blocks = words.lstrip_blocks = True
    return words.get_template("report.html").render(
        reports=reports,
        counts=Counter(report["verdict"] for report in reports),
        theorems=THEOREMS,
        figures=drawn,
        findings=findings,
        outcomes=outcomes,
        facts=facts,
    )
