"""The tables and lines that `dph verify` prints: by paper, remarks, the counts."""

from collections.abc import Sequence
from itertools import groupby
from textwrap import wrap

import numpy as np
from rich.console import Console
from rich.markup import escape

from ..references import REFERENCES
from ..support.table import Table
from ..theorems import THEOREMS
from .charts import as_floats
from .reports import Report
from .statement import Relation, Theorem, Verdict

_STYLE = {
    Verdict.PROVED: "bold green",
    Verdict.CHECKED: "green",
    Verdict.REFUTED: "yellow",
    Verdict.FAILED: "red",
}
STATED, _FEW = 4, 4
"""So many theorems at most are stated beside their verdicts; of their sides so many numbers."""
_HEADERS = ("theorem", "status", "test cases", "false variants rejected", "seconds")


def listing(theorems: Sequence[Theorem]) -> str:
    """Text that lists claims by paper and section, each with entry, status, command and figure."""
    lines: list[str] = []
    for source, group in groupby(theorems, key=lambda theorem: str(theorem.source)):
        lines.append(f"[bold]{escape(source)}[/]")
        for theorem in group:
            figure = theorem.source.figure and f"; dph figures {theorem.source.figure}"
            style = _STYLE[theorem.expected]
            lines += wrap(escape(theorem.title), 80, initial_indent="  ", subsequent_indent="  ")
            lines.append(f"    [{style}]{theorem.expected}[/]  dph verify {theorem.name}{figure}")
    return "\n".join(lines)


def print_reports(
    console: Console, theorems: list[Theorem], reports: list[Report], *, compiled: bool = False
) -> None:
    """Print the findings: the table, refuted claims, what was unexpected, and the counts as the last line.

    `compiled` says that Coq has compiled the proofs in this run; otherwise PROVED rests on the record.
    """
    explanations = [theorem.explained for theorem in theorems if theorem.explained]
    if explanations and all(report.as_expected for report in reports) and len(theorems) <= STATED:
        (*lines, following), *_ = (explained() for explained in explanations)
        console.print("\n".join(lines), markup=False, highlight=False)
        console.print(_last_line(theorems, reports, compiled=compiled))
        console.print(following, markup=False, highlight=False)
        return
    rows: list[tuple[str, ...]] = []
    for key in REFERENCES:
        group = [report for report in reports if THEOREMS[report.theorem].source.key == key]
        rows += [(f"[bold]{key}[/]",), *map(_row, group)] if group else []
    table = Table.from_rows(_HEADERS, rows).rich(markup=True)
    table.columns[0].no_wrap = True  # A name is shown whole: it is what selects an entry.
    console.print(table)
    for report in reports:
        if report.verdict == Verdict.REFUTED:
            console.print(f"[yellow]{report.theorem}[/] {THEOREMS[report.theorem].note}", highlight=False)
        for words in report.unexpected:
            console.print(f"[red]{report.theorem}:[/] {escape(words)}", highlight=False)
        if report.verdict in (Verdict.REFUTED, Verdict.FAILED):
            console.print(f"  counterexample: {report.witness}")
    if len(theorems) <= STATED:
        failed = {report.theorem for report in reports if report.verdict == Verdict.FAILED}
        for theorem in theorems:
            if theorem.name not in failed:
                console.print("\n".join(stated(theorem)), markup=False, highlight=False)
    console.print(_last_line(theorems, reports, compiled=compiled))


def stated(theorem: Theorem) -> list[str]:
    """Lines with a theorem's statement, its kind of test cases, and both sides at its first example."""
    lines = [f"{theorem.name}: {theorem.title}.", f"  {theorem.statement}"]
    lines.append(f"  checked on random and adversarial test cases of {', '.join(theorem.instances.parts)}")
    if theorem.examples:
        extra = {"eps": theorem.ladder[-1]} if theorem.relation is Relation.TENDS else {}
        parts = as_floats(theorem.examples[0].parts)
        left, right = map(_shown, theorem.sides(parts, **extra))
        claimed = "claimed, and false: " if theorem.false else ""
        lines.append(f"  at its first example, {claimed}{left} {theorem.relation} {right}")
    return lines


def _shown(side: np.ndarray) -> str:
    """First few numbers of a side as text."""
    values = [f"{value:.6g}" for value in np.ravel(side)[:_FEW]]
    return ", ".join(values) + (", ..." if np.size(side) > _FEW else "")


def _row(report: Report) -> tuple[str, ...]:
    mark = "" if report.verdict == report.expected else f" [red](expected {report.expected})[/]"
    return (
        f"  {report.theorem}",
        f"[{_STYLE[Verdict(report.verdict)]}]{report.verdict}[/]{mark}",
        f"{report.instances:,}",
        f"{report.fallen} of {len(report.false_neighbours)}",
        f"{report.seconds:.1f}",
    )


def _last_line(theorems: list[Theorem], reports: list[Report], *, compiled: bool) -> str:
    proof = "compiled now" if compiled else "proof recorded, not compiled now"
    counts = {verdict: sum(report.verdict == verdict for report in reports) for verdict in Verdict}
    notes = {Verdict.PROVED: f" ({proof})"}
    verdicts = [
        f"{number} {verdict.lower()}{notes.get(verdict, '')}" for verdict, number in counts.items() if number
    ]
    neighbours = sum(len(report.false_neighbours) for report in reports)
    parts = [
        f"{len(reports)} theorem{'' if len(reports) == 1 else 's'}: {', '.join(verdicts) or 'none checked'}",
        f"{sum(report.as_expected for report in reports)} as expected",
        f"{sum(report.fallen for report in reports)} of {neighbours} false variants rejected",
        f"{sum(report.instances for report in reports):,} test cases",
    ]
    return "; ".join(parts)
