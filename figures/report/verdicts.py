"""The table of verdicts: a row a theorem, which unfolds into its statement, checks and false neighbours."""

import json
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element

from dph_theory.references import REFERENCES
from dph_theory.statement.theorem import Theorem, Verdict
from dph_theory.theorems import THEOREMS

from .contents import Contents
from .formulas import formula
from .markup import Child, scrolling, table, tag
from .words import badge, linked, number

LETTERS = {
    "A": "Binary rewards: what is selected, and what collapses",
    "B": "Divergences: what a generator, an estimator, a loss descends",
    "C": "Bounds on improvement",
    "D": "Coverage: pass@k and distinct answers",
}
_MEANINGS = {
    Verdict.PROVED: "every step of a derivation holds symbolically; comments in the source join the steps",
    Verdict.CERTIFIED: "both sides in ball arithmetic at rational instances: equal to 30 digits, or disjoint",
    Verdict.HOLDS: "random instances with extreme corners, and an optimiser that seeks the worst violation",
    Verdict.REFUTED: "a violation was found; a published claim that is false is registered as such",
    Verdict.UNDECIDED: "none of these",
}
_HEAD = ("Theorem", "Statement", "Verdict", "Worst margin", "False neighbours")

Report = Mapping[str, Any]


def as_expected(report: Report) -> bool:
    """Whether the verdict is the expected one and every false neighbour fell."""
    return report["verdict"] == report["expected"] and all(n["refuted"] for n in report["false_neighbours"])


def reports_of(contents: Contents) -> dict[str, Report]:
    """The reports by theorem; none where verification left none."""
    found = contents.verdicts["results"]["reports"] if contents.verdicts else []
    return {report["theorem"]: report for report in found}


def section(contents: Contents) -> list[Child]:
    """What the verdicts mean, and a table a letter."""
    reports = reports_of(contents)
    if not reports:
        return [tag("p", f"There are no verdicts: {contents.words('verify')}", class_="missing")]
    used = [verdict for verdict in Verdict if any(r["verdict"] == verdict for r in reports.values())]
    return [
        tag("dl", [(tag("dt", badge(v)), tag("dd", _MEANINGS[v])) for v in used], class_="meanings"),
        tag(
            "p",
            "Each statement also has false neighbours (a constant cut, a sign turned, a condition dropped), "
            "which the same checks must refute: a check that cannot fail shows nothing. The margin is the "
            "largest relative gap by which any instance tried missed the statement, negative for a bound "
            "that always had room; each row says how large a gap still counts as rounding. Open a row to see "
            "more.",
        ),
        [_letter(letter, title, reports) for letter, title in LETTERS.items()],
    ]


def _letter(letter: str, title: str, reports: Mapping[str, Report]) -> list[Child]:
    rows = [_row(THEOREMS[name], report) for name, report in reports.items() if name.startswith(letter)]
    head = tag("tr", [tag("th", name, scope="col", role="columnheader") for name in _HEAD], role="row")
    return [
        tag("h3", f"{letter}. {title}"),
        tag(
            "table",
            tag("caption", f"Verdicts on the theorems of part {letter}", class_="unseen"),
            tag("thead", head, role="rowgroup"),
            tag("tbody", rows, role="rowgroup"),
            class_="verdicts",
            role="table",
        ),
    ]


def _row(theorem: Theorem, report: Report) -> Element:
    fallen = sum(n["refuted"] for n in report["false_neighbours"])
    strange = None if as_expected(report) else tag("span", f"expected {report['expected']}", class_="strange")
    detail = tag("details", tag("summary", theorem.title), _detail(theorem, report))
    return tag(
        "tr",
        tag("th", tag("a", theorem.name, href=f"#{theorem.name}"), scope="row", role="rowheader"),
        tag("td", detail, role="cell"),
        tag("td", badge(report["verdict"]), " ", strange, role="cell"),
        tag("td", number(_worst(report), ".0e"), role="cell", class_="number"),
        tag("td", f"{fallen} of {len(report['false_neighbours'])}", role="cell", class_="number"),
        role="row",
    )


def _worst(report: Report) -> float | None:
    found = [float(c["worst_violation"]) for c in report["checks"] if c["worst_violation"] is not None]
    return max(found, default=None)


def _detail(theorem: Theorem, report: Report) -> Element:
    """What unfolds; it bears the theorem's anchor, so that a link to it opens the row."""
    paper = REFERENCES[theorem.source.key]
    place = f", {theorem.source.place}" if theorem.source.place else ""
    # Of a statement that is false, a ratio of its sides says nothing.
    holds = [] if report["verdict"] == Verdict.REFUTED else report["checks"]
    tight = [c["tightness"] for c in holds if c["tightness"] is not None]
    return tag(
        "div",
        scrolling(f"The statement of {theorem.name}", formula(theorem.statement), class_="scroll formula"),
        tag("p", "Source: ", tag("cite", f"{paper.authors}, {paper.title}"), f", {paper.where}{place}."),
        tag("p", linked(theorem.note)) if theorem.note else None,
        tag("p", f"The largest ratio of the sides seen: {max(map(float, tight)):.6f}.") if tight else None,
        table(
            ("check", "verdict", "instances", "worst margin", "seconds"),
            [_check(check) for check in report["checks"]],
            f"Checks; a gap up to {theorem.tolerance:g} counts as rounding",
            class_="small",
        ),
        [_witness(c["check"], c["witness"]) for c in report["checks"] if c["witness"]],
        _neighbours(report),
        id=theorem.name,
        class_="detail",
    )


def _check(check: Mapping[str, Any]) -> tuple[Child, ...]:
    return (
        check["check"],
        badge(check["verdict"]),
        f"{check['instances']:,}",
        number(check["worst_violation"], ".1e"),
        number(check["seconds"], ".1f"),
    )


def _witness(check: str, witness: Any) -> Element:
    return tag("details", tag("summary", f"Witness of the {check} check"), _numbers(witness), class_="inner")


def _numbers(value: Any) -> Element:
    return tag("pre", tag("code", json.dumps(value, ensure_ascii=False)))


def _neighbours(report: Report) -> list[Child]:
    items = []
    for false in report["false_neighbours"]:
        how = f"refuted by {false['found_by']}" if false["refuted"] else "NOT refuted"
        witness = (
            tag("details", tag("summary", "its witness"), _numbers(false["witness"]), class_="inner")
            if false["witness"]
            else None
        )
        items.append(tag("li", f"{false['name']}: {how}", witness))
    lead = tag("p", "False neighbours, each put in the statement's place:")
    return [lead, tag("ul", items)] if items else []
