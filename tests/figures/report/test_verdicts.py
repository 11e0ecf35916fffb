from support.small_report import contents, verdict

from dph_theory.theorems import THEOREMS
from figures.report.markup import tag
from figures.report.verdicts import LETTERS, as_expected, section


def shown(*names, **changes):
    return tag("div", section(contents(*names, **changes)))


def test_every_theorem_has_its_part():
    assert {name[0] for name in THEOREMS} == set(LETTERS)


def test_a_row_unfolds_into_all_that_is_known():
    div = shown("A8.frontier")
    row = next(r for r in div.iter("tr") if "A8.frontier" in "".join(r.itertext()))
    text = "".join(row.itertext())
    assert THEOREMS["A8.frontier"].title in text
    for false in THEOREMS["A8.frontier"].false_neighbours:
        assert false.name in text
    assert "numeric" in text
    assert next(row.iter("math")) is not None


def test_its_anchor_is_inside_what_unfolds():
    details = next(d for d in shown("A8.frontier").iter("details"))
    assert [node.get("id") for node in details.iter() if node.get("id")] == ["A8.frontier"]


def test_a_refuted_statement_shows_its_witness():
    text = "".join(shown("C2.old").itertext())
    assert "Witness of the numeric check" in text
    assert '"pi_pef"' in text
    assert "The largest ratio" not in text


def test_a_report_is_as_expected_if_its_verdict_is_and_all_neighbours_fell():
    report = verdict("C2.old")
    standing = report["false_neighbours"][0] | {"refuted": False}
    fallen = [false | {"refuted": True} for false in report["false_neighbours"]]
    assert as_expected(report | {"false_neighbours": fallen})
    assert not as_expected(report | {"false_neighbours": [standing]})
    assert not as_expected(report | {"false_neighbours": fallen, "verdict": "HOLDS"})


def test_without_verdicts_it_says_why():
    text = "".join(shown(verdicts=None).itertext())
    assert text == "There are no verdicts: all well"
