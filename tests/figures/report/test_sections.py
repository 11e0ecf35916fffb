from dataclasses import replace

from support.small_report import FORM, contents, plate

from dph_theory.references import REFERENCES
from figures.report import sections
from figures.report.contents import Outcome, Plate
from figures.report.markup import tag


def text(children):
    return "".join(tag("div", children).itertext())


def test_a_figure_has_its_drawing_caption_findings_and_origin():
    drawn = plate("mu_beta")
    found = tag("div", sections.figures(contents(plates=[drawn])))
    words = "".join(found.itertext())
    assert drawn.record["findings"][0] in words
    assert "Computed with seed 0" in words
    svg = next(found.iter("svg"))
    titles = {node.get("id"): "".join(node.itertext()) for node in found.iter() if node.get("id")}
    assert titles[svg.get("aria-labelledby")] == f"1. {drawn.figure.title}"
    assert titles[svg.get("aria-describedby")] == drawn.figure.caption


def test_a_figure_that_is_not_there_says_why():
    outcomes = (Outcome("figure.mu_beta", "failed", 1.0, "ValueError: no"),)
    missing = replace(plate("mu_beta"), svg=None)
    assert "could not be drawn: ValueError: no" in text(
        sections.figures(contents(plates=[missing], outcomes=outcomes))
    )
    unknown = Plate("mu_beta", None, None, None)
    assert "1. mu_beta" in text(sections.figures(contents(plates=[unknown], outcomes=outcomes)))


def test_experiments_speak_for_themselves():
    words = text(sections.experiments(contents()))
    assert "DAPO forgets." in words
    assert words.count("There is no result: it was not run") == 2


def test_the_audit_has_a_row_a_form():
    found = tag("div", sections.audit(contents()))
    cells = [cell.text for cell in next(found.iter("tbody")).iter() if cell.tag in ("th", "td")]
    assert cells == [FORM[key] for key in ("form", "samples", "value", "gradient", "minimiser", "variance",
                                           "dead_zones")]  # fmt: skip


def test_the_run_tells_its_stages_and_the_machine():
    words = text(sections.run(contents(outcomes=(Outcome("audit", "failed", 2.25, "no", "line 7"),))))
    assert "2.2" in words
    assert "How audit failed" in words
    assert "line 7" in words
    assert "cores" in words


def test_sources_are_those_of_the_registry():
    words = text(sections.sources())
    assert all(paper.title in words for key, paper in REFERENCES.items() if key != "ours")
