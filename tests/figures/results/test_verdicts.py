from support.small_report import FORM, read, verdict

from figures.results.verdicts import read_audit


def read_one(report):
    (found,) = read(report).values()
    return found


def test_a_report_is_as_expected_if_its_verdict_is_all_neighbours_fell_and_it_is_tight_where_it_should():
    report = verdict("C2.old")
    fallen = {"false_neighbours": [false | {"refuted": True} for false in report["false_neighbours"]]}
    standing = {"false_neighbours": [report["false_neighbours"][0] | {"refuted": False}]}
    assert read_one(report | fallen).as_expected
    assert not read_one(report | standing).as_expected
    assert not read_one(report | fallen | {"verdict": "HOLDS"}).as_expected
    assert not read_one(report | fallen | {"tight": False}).as_expected


def test_the_worst_gap_is_the_largest_of_all_checks():
    report = verdict("C2.old")
    checks = [report["checks"][0] | {"worst_violation": gap} for gap in (None, -0.5, "inf", 2.0)]
    assert read_one(report | {"checks": checks}).worst == float("inf")
    assert read_one(report | {"checks": checks[:2]}).worst == -0.5
    assert read_one(report | {"checks": checks[:1]}).worst is None


def test_the_audit_is_read_form_by_form():
    (line,) = read_audit({"results": {"forms": [FORM]}})
    assert (line.form, line.gradient) == ("k9", "zero")
