import pytest

from figures.report.markup import tag, written
from figures.report.words import FAMILIES, badge, count, linked, members, number


def html(children):
    return written(tag("p", children)).removeprefix("<!doctype html>\n").strip()


def test_theorems_and_families_link_to_their_place():
    assert html(linked("by A8.frontier (C3)")) == (
        '<p>by <a href="#A8.frontier">A8.frontier</a> (<a href="#C3.anchor">C3</a>)</p>'
    )


@pytest.mark.parametrize("text", ["logit A1 + 1/beta", "B99 is none", "DAPO4", "C2.unknown"])
def test_symbols_and_unknown_names_do_not(text):
    assert html(linked(text)) == f"<p>{text}</p>"


def test_a_family_starts_at_its_first_theorem():
    assert FAMILIES["A5"] == "A5.validity"


def test_members_are_in_the_registrys_order():
    assert members(["C4.filtered", "B2"]) == ["B2.misprint", "B2.value", "C4.filtered"]
    assert members(["A1"]) == ["A1.distance", "A1.nearest", "A1.dimension"]


def test_a_badge_bears_its_verdict():
    assert badge("PROVED").get("class") == "badge proved"


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "–"), (0.0, "0"), ("inf", "inf"), (-2.5e-7, "-2e-07"), (1.26e-13, "1e-13")]
)
def test_numbers(value, shown):
    assert number(value, ".0e") == shown


def test_counts():
    assert [count(n, "stage") for n in (0, 1, 1200)] == ["0 stages", "1 stage", "1,200 stages"]
