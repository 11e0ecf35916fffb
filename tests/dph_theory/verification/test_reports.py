from dataclasses import replace

from dph_theory.statement.theorem import Verdict
from dph_theory.verification.checks.result import CheckResult, Enclosed
from dph_theory.verification.reports import NeighbourReport, Report, Timed

BOX = Enclosed("x in [0, 1]", "lhs < rhs", 7)
REPORT = Report(
    "toy",
    "ours",
    Verdict.ENCLOSED,
    Verdict.ENCLOSED,
    (Timed(CheckResult("enclosed", Verdict.ENCLOSED, 6, boxes=(BOX,)), 0.5),),
    (NeighbourReport("false", True, ("adversarial",), {"x": 1.0}, 4),),
)


def test_plain_data_names_the_boxes_and_how_far_around_a_witness_the_violation_is_certain():
    plain = REPORT.as_json()
    assert plain["checks"][0]["boxes"] == [{"box": "x in [0, 1]", "finding": "lhs < rhs", "pieces": 7}]
    assert plain["false_neighbours"][0]["certain_within"] == 2**-4
    assert REPORT.boxes == (BOX,)
    assert REPORT.as_expected


def test_next_to_an_enclosed_statement_a_neighbour_must_fail_on_a_whole_box():
    found = replace(REPORT.neighbours[0], box_asked=True)
    assert replace(REPORT, neighbours=(found,)).as_expected
    assert not replace(REPORT, neighbours=(replace(found, certain_within=None),)).as_expected
