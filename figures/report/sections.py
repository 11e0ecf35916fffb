"""The sections on figures, experiments, the audit and the run itself."""

import json
from xml.etree.ElementTree import Element

from dph_theory.references import REFERENCES

from .contents import Contents, Outcome, Plate, Record
from .markup import Child, scrolling, table, tag
from .pictures import picture
from .words import linked, number

_AUDITED = {
    "form": "Form",
    "samples": "Samples",
    "value": "Value estimates",
    "gradient": "Gradient descends",
    "minimiser": "Minimiser",
    "variance": "Variance",
    "dead_zones": "Dead zones",
}
_EXPERIMENTS = {
    "collapse": "Collapse of restricted families",
    "strategies": "Strategies that prompts share",
    "styles": "A tiny transformer, trained for real",
}


def figures(contents: Contents) -> list[Child]:
    """Every figure with its caption, its findings, and what it was computed from."""
    return [_figure(order, plate, contents) for order, plate in enumerate(contents.plates, 1)]


def _figure(order: int, plate: Plate, contents: Contents) -> Element:
    key = f"figure-{plate.name}"
    shown = plate.figure
    if shown is None or plate.svg is None or plate.record is None:
        title = plate.name if shown is None else shown.title
        words = f"It could not be drawn: {contents.words(f'figure.{plate.name}')}"
        return tag("figure", tag("h3", f"{order}. {title}"), tag("p", words, class_="missing"), id=key)
    names = {"aria_labelledby": f"{key}-title", "aria_describedby": f"{key}-caption"}
    drawn = picture(plate.svg, plate.name, **names)
    return tag(
        "figure",
        tag("h3", f"{order}. {shown.title}", id=f"{key}-title"),
        scrolling(f"Figure {order}", drawn, class_="scroll plate"),
        tag(
            "figcaption",
            tag("p", linked(shown.caption), id=f"{key}-caption"),
            _findings(plate.record["findings"]),
            _origin(plate.record, shown.needs),
        ),
        id=key,
    )


def _origin(record: Record, needs: tuple[str, ...]) -> Element:
    """What the numbers come from."""
    config = {key: value for key, value in record["config"].items() if key != "quick"}
    source = f"Computed with seed {record['seed']}"
    if needs:
        source += f", from the experiment{'s' * (len(needs) > 1)} {' and '.join(needs)}"
    if not config:
        return tag("p", f"{source}.", class_="inner")
    numbers = tag("pre", tag("code", json.dumps(config)))
    return tag("details", tag("summary", source), numbers, class_="inner")


def _findings(sentences: list[str]) -> Element | None:
    return tag("ul", [tag("li", linked(s)) for s in sentences], class_="findings") if sentences else None


def experiments(contents: Contents) -> list[Child]:
    """What each toy experiment found, in its own sentences."""
    parts: list[Child] = []
    for name, title in _EXPERIMENTS.items():
        parts.append(tag("h3", title))
        if name in contents.experiments:
            parts.append(_findings(contents.experiments[name]["findings"]))
        else:
            parts.append(tag("p", f"There is no result: {contents.words(f'toy.{name}')}", class_="missing"))
    return parts


def audit(contents: Contents) -> list[Child]:
    """The catalogue of KL terms in circulation as a table."""
    if contents.audit is None:
        return [tag("p", f"There is no audit: {contents.words('audit')}", class_="missing")]
    lead = (
        "Forms of a KL term that are in circulation, each re-stated from its published formula. On problems "
        "small enough to list every sequence, value and gradient are summed over all samples with their "
        "exact probabilities, and compared with those of the known divergences; nothing is sampled. The "
        "minimiser is that on correct samples of the reference; a dead zone is an interval of log(pi/ref) "
        "without gradient."
    )
    rows = [[form[key] for key in _AUDITED] for form in contents.audit["results"]["forms"]]
    words = "What each form estimates and what it descends"
    made = table(_AUDITED.values(), rows, words, class_="small audit")
    return [tag("p", lead), made]


def run(contents: Contents) -> list[Child]:
    """The machine, the versions, the stages with their times."""
    facts = {
        "run": "quick" if contents.plan.quick else "full",
        "seed": str(contents.plan.seed),
        **contents.environment,
    }
    rows = [(tag("code", o.stage), o.state, number(o.seconds, ".1f"), o.words) for o in contents.outcomes]
    return [
        tag("dl", [(tag("dt", name), tag("dd", value)) for name, value in facts.items()], class_="facts"),
        table(
            ("Stage", "", "Seconds", "What it says"), rows, "The stages of this run", class_="small stages"
        ),
        [_trace(outcome) for outcome in contents.failures if outcome.trace],
    ]


def _trace(outcome: Outcome) -> Element:
    return tag(
        "details", tag("summary", f"How {outcome.stage} failed"), tag("pre", tag("code", outcome.trace))
    )


def sources() -> list[Child]:
    """The papers that the theorems cite."""
    return [
        tag(
            "ul",
            [
                tag("li", tag("code", key), f": {r.authors}, ", tag("cite", r.title), f", {r.where}.")
                for key, r in REFERENCES.items()
                if key != "ours"
            ],
            class_="sources",
        )
    ]
