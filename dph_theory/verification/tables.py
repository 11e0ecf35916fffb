"""The tables and lines that `dph verify` prints: by paper, the boxes, remarks, the steps, the counts."""

from collections import Counter
from importlib.util import find_spec
from textwrap import fill

from rich.console import Console
from rich.markup import escape

from ..references import REFERENCES
from ..statement.theorem import Theorem, Verdict
from ..support.table import Table
from ..theorems import THEOREMS
from .reports import Report

FEW = 3
"""Up to so many theorems the steps of their derivations are printed."""
_STYLE = {
    Verdict.PROVED: "bold green",
    Verdict.DERIVED: "green",
    Verdict.ENCLOSED: "green",
    Verdict.CERTIFIED: "green",
    Verdict.HOLDS: "cyan",
    Verdict.REFUTED: "yellow",
    Verdict.UNDECIDED: "red",
}


def listing(theorems: list[Theorem]) -> Table:
    """The theorems, a line each."""
    headers = ("theorem", "source", "expected", "statement")
    rows = [(t.name, str(t.source), t.expected, t.title) for t in theorems]
    return Table.of(headers, rows)


def print_reports(console: Console, theorems: list[Theorem], reports: list[Report], *, quick: bool) -> None:
    """What was found: the tables, what was unexpected, who decided, and the counts as the last line."""
    console.print(_table(reports).rich(markup=True))
    if any(report.boxes for report in reports):
        console.print(_boxes(reports).rich(markup=True))
    _print_remarks(console, reports)
    _print_steps(console, reports, quick)
    console.print(_last_line(theorems, reports))


def _by_paper(reports: list[Report]) -> dict[str, list[Report]]:
    """The reports under the reference key of their source, in the order of the bibliography."""
    grouped = {key: [r for r in reports if THEOREMS[r.theorem].source.key == key] for key in REFERENCES}
    return {key: group for key, group in grouped.items() if group}


def _table(reports: list[Report]) -> Table:
    headers = (
        "theorem",
        "source",
        "verdict",
        "steps twice",
        "instances",
        "worst margin",
        "tightness",
        "neighbours",
        "seconds",
    )
    rows: list[tuple[str, ...]] = []
    for key, group in _by_paper(reports).items():
        rows += [(f"[bold]{key}[/]",), *map(_row, group)]
    return Table.of(headers, rows)


def _row(report: Report) -> tuple[str, ...]:
    fallen = sum(n.refuted for n in report.false_neighbours)
    mark = "" if report.verdict is report.expected else f" [red](expected {report.expected})[/]"
    return (
        f"  {report.theorem}",
        THEOREMS[report.theorem].source.place,
        f"[{_STYLE[report.verdict]}]{_verdict(report)}[/]{mark}",
        f"{sum(len(c.by) > 1 for c in report.claims)} of {len(report.claims)}" if report.claims else "-",
        f"{sum(result.instances for result in report.checks):,}",
        "-" if report.worst is None else f"{report.worst:.1e}",
        "-" if report.tight is None else f"{report.tight:.6f}",
        f"{fallen} of {len(report.false_neighbours)} refuted" if report.false_neighbours else "-",
        f"{report.seconds:.1f}",
    )


def _verdict(report: Report) -> str:
    """The verdict in words, on narrow lines: a derivation names the entries that it rests on, and theirs."""
    rests = ", ".join(f"{name} ({verdict})" for name, verdict in report.given.items())
    return fill(f"{report.verdict}, given {rests}", 22) if rests else str(report.verdict)


def _boxes(reports: list[Report]) -> Table:
    """The boxes on which statements were decided as a whole; several of one box and finding are one row."""
    headers = ("theorem", "found on the whole box", "box", "pieces")
    rows: list[tuple[str, ...]] = []
    for report in reports:
        pieces: Counter[tuple[str, str]] = Counter()
        for box in report.boxes:
            pieces[box.finding, box.box] += box.pieces
        rows += [
            (f"  {report.theorem}", finding, escape(box), f"{count:,}")
            for (finding, box), count in pieces.items()
        ]
    return Table.of(headers, rows)


def _print_remarks(console: Console, reports: list[Report]) -> None:
    """What a table cannot hold: refuted claims with their smallest witness, and all that was unexpected."""
    for report in reports:
        if report.verdict is Verdict.REFUTED:
            console.print(f"[yellow]{report.theorem}[/] {THEOREMS[report.theorem].note}", highlight=False)
            witnesses = [result.witness for result in report.checks if result.witness]
            if witnesses:
                console.print(f"  smallest witness: {min(witnesses, key=lambda w: len(repr(w)))}")
        for words in report.unexpected:
            console.print(f"[red]{report.theorem}:[/] {escape(words)}", highlight=False)


def _print_steps(console: Console, reports: list[Report], quick: bool) -> None:
    """How many steps of derivations who decided; the derivations themselves where few are asked for."""
    for report in reports if len(reports) <= FEW else ():
        for step in report.steps:
            by = f": {' and '.join(step.by) or step.detail}" if step.verdict else ""
            text = f"a false step, refused: {step.text}" if step.kind == "false step" else step.text
            console.print(f"  {report.theorem}: {text}{by}", markup=False)
    if any(report.claims for report in reports):
        steps = Counter(" and ".join(claim.by) or "nobody" for report in reports for claim in report.claims)
        by = ", ".join(f"{number} by {names}" for names, number in steps.most_common())
        asked = " (each put to the first decider that reaches it)" if quick else ""
        alone = "" if find_spec("z3") else "; without z3-solver there is one decider"
        refused = sum(step.kind == "false step" for report in reports for step in report.steps)
        console.print(
            f"{_count(steps.total(), 'step')}: {by}{asked}{alone}; {_count(refused, 'false step')} refused"
        )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _last_line(theorems: list[Theorem], reports: list[Report]) -> str:
    verdicts = []
    for verdict in Verdict:
        found = [report for report in reports if report.verdict is verdict]
        resting = sum(bool(report.given) for report in found)
        rest = f" ({resting} of them given other entries)" if resting else ""
        verdicts += [f"{len(found)} {verdict.lower()}{rest}"] if found else []
    neighbours = [n for report in reports for n in report.false_neighbours]
    instances = sum(result.instances for report in reports for result in report.checks)
    parts = [
        f"{_count(len(reports), 'theorem')}: {', '.join(verdicts) or 'none checked'}",
        f"{sum(report.as_expected for report in reports)} as expected",
        f"{sum(n.refuted for n in neighbours)} of {len(neighbours)} false neighbours refuted",
        f"{instances:,} instances",
    ]
    if len(theorems) > len(reports):
        needed = {t.needs for t in theorems if t.needs and find_spec(t.needs) is None}
        missing = f", or need {', '.join(sorted(needed))} (pip install 'dph\\[toy]')" if needed else ""
        parts.append(f"{len(theorems) - len(reports)} have none of the selected checks{missing}")
    return "; ".join(parts)
