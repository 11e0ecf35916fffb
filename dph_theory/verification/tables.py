"""The tables and lines that `dph verify` prints: by paper, the boxes, remarks, the steps, the counts."""

from collections import Counter
from importlib.util import find_spec
from textwrap import fill

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..references import REFERENCES
from ..statement.theorem import Theorem, Verdict
from ..support import terminal
from ..theorems import THEOREMS
from .reports import Report

FEW = 3
"""Up to so many theorems the steps of their derivations are printed."""
_STYLE = {
    Verdict.PROVED: "bold green",
    Verdict.ENCLOSED: "green",
    Verdict.CERTIFIED: "green",
    Verdict.HOLDS: "cyan",
    Verdict.REFUTED: "yellow",
    Verdict.UNDECIDED: "red",
}


def listing(console: Console, theorems: list[Theorem]) -> Table:
    """The theorems, a line each."""
    headers = ("theorem", "source", "expected", "statement")
    rows = [(t.name, str(t.source), t.expected, t.title) for t in theorems]
    return terminal.fitted(console, headers, rows, keep=("theorem", "statement"), box=None)


def print_reports(console: Console, theorems: list[Theorem], reports: list[Report], *, quick: bool) -> None:
    """What was found: the tables, what was unexpected, who decided, and the counts as the last line."""
    console.print(_table(console, reports))
    if any(report.boxes for report in reports):
        console.print(_boxes(console, reports))
    _print_remarks(console, reports)
    _print_steps(console, reports, quick)
    console.print(_last_line(theorems, reports))


def _by_paper(reports: list[Report]) -> dict[str, list[Report]]:
    """The reports under the reference key of their source, in the order of the bibliography."""
    grouped = {key: [r for r in reports if THEOREMS[r.theorem].source.key == key] for key in REFERENCES}
    return {key: group for key, group in grouped.items() if group}


def _table(console: Console, reports: list[Report]) -> Table:
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
    return terminal.fitted(console, headers, rows, keep=("theorem", "verdict", "neighbours"))


def _row(report: Report) -> tuple[str, ...]:
    results = [timed.result for timed in report.checks]
    worst = max((r.worst_violation for r in results if r.worst_violation is not None), default=None)
    tight = max((r.tightness for r in results if r.tightness is not None), default=None)
    fallen = sum(n.refuted for n in report.neighbours)
    mark = "" if report.verdict is report.expected else f" [red](expected {report.expected})[/]"
    return (
        f"  {report.theorem}",
        THEOREMS[report.theorem].source.place,
        f"[{_STYLE[report.verdict]}]{_verdict(report)}[/]{mark}",
        f"{sum(len(c.by) > 1 for c in report.claims)} of {len(report.claims)}" if report.claims else "-",
        f"{sum(r.instances for r in results):,}",
        "-" if worst is None else f"{worst:.1e}",
        "-" if tight is None else f"{tight:.6f}",
        f"{fallen} of {len(report.neighbours)} refuted" if report.neighbours else "-",
        f"{report.seconds:.1f}",
    )


def _verdict(report: Report) -> str:
    """The verdict in words, on narrow lines: a proof names the entries that it leans on."""
    leans = report.verdict is Verdict.PROVED and report.given
    return fill(f"{report.verdict}, given {', '.join(report.given)}", 22) if leans else str(report.verdict)


def _boxes(console: Console, reports: list[Report]) -> Table:
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
    return terminal.fitted(console, headers, rows, keep=("theorem", "box"))


def _print_remarks(console: Console, reports: list[Report]) -> None:
    """What a table cannot hold: refuted claims with their smallest witness, and all that was unexpected."""
    for report in reports:
        results = [timed.result for timed in report.checks]
        if report.verdict is Verdict.REFUTED:
            console.print(f"[yellow]{report.theorem}[/] {THEOREMS[report.theorem].note}", highlight=False)
            witnesses = [r.witness for r in results if r.witness]
            if witnesses:
                console.print(f"  smallest witness: {min(witnesses, key=lambda w: len(repr(w)))}")
        if report.verdict is not report.expected:
            for result in results:
                if result.detail:
                    console.print(f"  {result.check} {result.verdict}: {result.detail}")
        if report.tight is False:
            console.print(f"[red]{report.theorem}: a tight bound whose sides stayed apart[/]")
        for missed in (n for n in report.neighbours if not n.as_expected):
            found = ", ".join(missed.found_by) or "nothing"
            where = " on a whole box" if missed.refuted else ""
            console.print(
                f"[red]{report.theorem}: false neighbour not refuted{where}[/] {missed.name} (by {found})"
            )


def _print_steps(console: Console, reports: list[Report], quick: bool) -> None:
    """How many steps of derivations who decided; one by one where few theorems were asked for."""
    for report in reports if len(reports) <= FEW else ():
        for claim in report.claims:
            console.print(
                f"  {report.theorem}: {claim.text}: {' and '.join(claim.by) or claim.detail}", markup=False
            )
    if any(report.claims for report in reports):
        steps = Counter(" and ".join(claim.by) or "nobody" for report in reports for claim in report.claims)
        by = ", ".join(f"{number} by {names}" for names, number in steps.most_common())
        asked = " (each put to the first decider that reaches it)" if quick else ""
        alone = "" if find_spec("z3") else "; without z3-solver there is one decider"
        many = "step" if steps.total() == 1 else "steps"
        console.print(f"{steps.total()} {many}: {by}{asked}{alone}")


def _last_line(theorems: list[Theorem], reports: list[Report]) -> str:
    counts = Counter(report.verdict for report in reports)
    verdicts = ", ".join(f"{counts[v]} {v.lower()}" for v in Verdict if counts[v])
    if leaning := sum(bool(report.given) for report in reports if report.verdict is Verdict.PROVED):
        verdicts = verdicts.replace(" proved", f" proved ({leaning} of them given another entry)")
    neighbours = [n for report in reports for n in report.neighbours]
    instances = sum(timed.result.instances for report in reports for timed in report.checks)
    parts = [
        f"{len(reports)} {'theorem' if len(reports) == 1 else 'theorems'}: {verdicts or 'none checked'}",
        f"{sum(report.as_expected for report in reports)} as expected",
        f"{sum(n.refuted for n in neighbours)} of {len(neighbours)} false neighbours refuted",
        f"{instances:,} instances",
    ]
    if len(theorems) > len(reports):
        needed = {t.needs for t in theorems if t.needs and find_spec(t.needs) is None}
        missing = f", or need {', '.join(sorted(needed))} (pip install -e '.\\[toy]')" if needed else ""
        parts.append(f"{len(theorems) - len(reports)} have none of the selected checks{missing}")
    return "; ".join(parts)
