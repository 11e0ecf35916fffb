"""Report: one self-contained page with the findings of a reproduction, made from a template."""

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
    """End of a stage: "done", "reused" from an interrupted run, or "failed"; its seconds and message."""

    stage: str
    state: str
    seconds: float
    words: str
    trace: str = ""

    @property
    def failed(self) -> bool:
        """Did the stage fail?"""
        return self.state == "failed"


class DrawnFigure(NamedTuple):
    """A figure with its drawing as SVG and its table, None if it could not be made."""

    figure: Figure
    svg: Markup | None
    table: Markup | None


def drawn_figures(records: Records, svg: Mapping[str, bytes]) -> list[DrawnFigure]:
    """The figures in order, with the available drawings and their tables."""
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
    """Render the document: statements, figures, findings of each experiment, and the stages of the run.

    `verdicts` is the record of the verification, None if it failed; `facts` are seed and versions.
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
