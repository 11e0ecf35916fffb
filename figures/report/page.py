"""The page: one HTML document that holds everything, and asks nobody for anything."""

from xml.etree.ElementTree import Element

from . import claims, sections, verdicts
from .contents import Contents
from .markup import Child, tag, written
from .stylesheet import CSS
from .words import count, linked

TITLE = "Binary rewards and the choice of divergence"
_SUBTITLE = (
    "Why reinforcement learning with binary rewards loses diversity, and which divergence repairs it: every "
    "statement checked, every figure computed anew."
)
_ICON = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E"
"""An empty icon, lest the browser ask for one."""


def page(contents: Contents) -> str:
    """The whole document as text."""
    parts: dict[str, tuple[str, list[Child]]] = {
        "claims": ("What is claimed", claims.claims(contents)),
        "differences": ("What differs from the papers", claims.differences(contents)),
        "figures": ("Figures", sections.figures(contents)),
        "experiments": ("What the toy experiments found", sections.experiments(contents)),
        "audit": ("What does your KL do?", sections.audit(contents)),
        "theorems": ("Every theorem", verdicts.section(contents)),
        "run": ("This run", sections.run(contents)),
        "sources": ("Sources", sections.sources()),
    }
    links = [tag("li", tag("a", title, href=f"#{key}")) for key, (title, _) in parts.items()]
    main = [
        tag("section", tag("h2", title, id=key), body, aria_labelledby=key)
        for key, (title, body) in parts.items()
    ]
    body = tag(
        "body",
        tag("a", "Skip to the contents", href="#claims", class_="skip"),
        tag("header", tag("h1", TITLE), tag("p", _SUBTITLE, class_="lead"), _summary(contents)),
        tag("nav", tag("ul", links), aria_label="Sections"),
        tag("main", main),
    )
    return written(tag("html", _head(), body, lang="en"))


def _head() -> Element:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("title", TITLE),
        tag("link", rel="icon", href=_ICON),
        tag("style", CSS),
    )


def _summary(contents: Contents) -> list[Child]:
    """The run in one line of numbers, and what failed in it."""
    reports = verdicts.reports_of(contents).values()
    neighbours = [n for report in reports for n in report["false_neighbours"]]
    drawn = sum(plate.svg is not None for plate in contents.plates)
    seconds = sum(outcome.seconds for outcome in contents.outcomes)
    facts = (
        (f"{sum(map(verdicts.as_expected, reports))} of {len(reports)}", "theorems as expected"),
        (f"{sum(n['refuted'] for n in neighbours)} of {len(neighbours)}", "false neighbours refuted"),
        (f"{drawn} of {len(contents.plates)}", "figures drawn"),
        (f"{seconds / 60:.1f}", "minutes of computing"),
    )
    parts: list[Child] = [
        tag("ul", [tag("li", tag("b", amount), " ", what) for amount, what in facts], class_="tally")
    ]
    if contents.plan.quick:
        parts.append(tag("p", "A quick run: fewer instances and smaller experiments.", class_="note"))
    if contents.failures:
        failed = [tag("li", tag("code", o.stage), ": ", linked(o.words)) for o in contents.failures]
        words = f"{count(len(contents.failures), 'stage')} failed; the rest of the page does without."
        parts.append(tag("div", tag("p", words), tag("ul", failed), class_="failed", role="alert"))
    return parts
