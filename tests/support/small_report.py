"""The contents of a report without a run: verdicts from few instances, figures from stored numbers."""

import re
from functools import cache
from html import unescape
from typing import Any

from dph_theory.support.record import record
from dph_theory.theorems import THEOREMS
from dph_theory.verification.reports import Report, Settings
from dph_theory.verification.run import verify_one
from figures import files
from figures.catalogue import NAMES, figure
from figures.records import read_audit, read_verdicts
from figures.report import Contents, page
from figures.report.contents import DrawnFigure, StageEnd
from figures.report.results import Plan, environment

FORM: dict[str, Any] = {
    "form": "k9",
    "source": "nobody",
    "formula": "mean_t k9",
    "samples": "policy",
    "value": "reverse KL(pi||ref)",
    "gradient": "zero",
    "minimiser": "-",
    "variance": "2.3",
    "dead_zones": "[-700, -41]",
    "verdict": "k9 does nothing",
    "failed": False,
}


@cache
def verdict(name: str) -> dict[str, Any]:
    """A real report, from so few instances that what it says of the theorem does not count."""
    return verify_one(THEOREMS[name], Settings(2, 5, 1, 1)).as_json()


def supposed(name: str) -> dict[str, Any]:
    """A report as the registry expects it, without any check."""
    theorem = THEOREMS[name]
    word = str(theorem.expected)
    return {
        "theorem": name,
        "expected": word,
        "verdict": word,
        "instances": 7,
        "worst": 1e-15,
        "exact": 3,
        "unexpected": [],
        "seconds": 0.1,
        "witness": {"x": [0.25] * 40},
        "false_neighbours": [{"name": false.name, "refuted": True} for false in theorem.false_neighbours],
    }


def verdicts(*reports: dict[str, Any]) -> dict[str, Any]:
    return record("report.verdicts", seed=0, config={}, results={"reports": list(reports)}, findings=[])


def read(*reports: dict[str, Any]) -> dict[str, Report]:
    """The reports as the page has them."""
    return read_verdicts(verdicts(*reports))


def drawn_figure(name: str) -> DrawnFigure:
    """A figure from its committed numbers."""
    found = figure(name)
    made = found.stored()
    return DrawnFigure(name, found, made, files.rendered(found.drawing(made), "svg"))


def contents(
    *names: str, drawn: tuple[str, ...] = (), outcomes: tuple[StageEnd, ...] = (), **changes: Any
) -> Contents:
    """Contents with the verdicts on these theorems and these figures."""
    parts: dict[str, Any] = {
        "plan": Plan(),
        "reports": read(*map(verdict, names)),
        "audit": read_audit({"results": {"forms": [FORM]}}),
        "records": {
            name: record(name, seed=0, config={"of": name}, results={}, findings=["DAPO forgets 3 of 4."])
            for name in ("audit", "laws_quick", "strategies")
        },
        "figures": [drawn_figure(name) for name in drawn],
        "outcomes": outcomes or (StageEnd("verify", "done", 12.5, "all well"),),
        "environment": environment(),
    }
    return Contents(**(parts | changes))


def whole() -> Contents:
    """Contents with every theorem and every figure."""
    return contents(drawn=NAMES, reports=read(*map(supposed, THEOREMS)))


def section(key: str, *names: str, **changes: Any) -> str:
    """The HTML of one section of the page on these contents."""
    found = re.search(
        rf'<section aria-labelledby="{key}">(.*?)</section>', page(contents(*names, **changes)), re.S
    )
    assert found
    return found[1]


def text(html: str) -> str:
    """What a reader sees of it."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", html))).strip()
