"""Report: one self-contained page with the findings of a reproduction, made from a template."""

from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dph_theory.theorems import SUBJECTS, THEOREMS

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
    """A figure with its finding; its two drawings as data URIs and its table, None if it was not drawn."""

    figure: Figure
    finding: str
    wide: str | None = None
    narrow: str | None = None
    table: Markup | None = None


def drawn_figures(records: Records, svg: Mapping[str, tuple[bytes, bytes]]) -> list[DrawnFigure]:
    """The figures in order, with the available drawings (wide, narrow) and their tables."""
    pictures = []
    for one in map(figure, NAMES):
        if one.name not in svg:
            pictures.append(DrawnFigure(one, one.title))
            continue
        numbers = one.numbers(records)
        # As images two drawings share no identifiers, and the browser shows the one that fits.
        wide, narrow = (f"data:image/svg+xml;base64,{b64encode(part).decode()}" for part in svg[one.name])
        table = Markup(one.table(numbers).html())
        pictures.append(DrawnFigure(one, one.finding(numbers), wide, narrow, table))
    return pictures


def formula(latex: str) -> Markup:
    """Set a formula as MathML, as the site does; without latex2mathml, show its LaTeX."""
    if find_spec("latex2mathml") is None:
        return Markup("<code>{}</code>").format(latex)
    from latex2mathml.converter import convert

    return Markup(convert(latex, display="block"))


def page(
    verdicts: Mapping[str, Any] | None,
    drawn: Sequence[DrawnFigure],
    findings: Mapping[str, Sequence[str]],
    outcomes: Sequence[StageEnd],
    facts: Mapping[str, object],
) -> str:
    """Render the document: ten findings, figures, statements by subject, experiments, and the run's stages.

    `verdicts` is the record of the verification, None if it failed; `facts` are seed and versions.
    """
    reports = [] if verdicts is None else verdicts["results"]["reports"]
    subjects: dict[str, list[Any]] = {}
    for report in reports:
        theorem = THEOREMS[report["theorem"]]
        subjects.setdefault(SUBJECTS[theorem.subject].title, []).append((theorem, report))
    loader = PackageLoader("figures", "templates")
    words = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    words.trim_blocks = words.lstrip_blocks = True
    words.filters["formula"] = formula
    return words.get_template("report.html").render(
        reports=reports,
        subjects=subjects,
        counts=Counter(report["verdict"] for report in reports),
        figures=drawn,
        findings=findings,
        outcomes=outcomes,
        facts=facts,
    )
