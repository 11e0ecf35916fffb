import json
from dataclasses import replace

import pytest
from flint import arb
from support.small_theorems import BINOMIAL, LIMIT, NEEDLE, PINSKER

from dph_theory.statement.charts import example
from dph_theory.statement.theorem import Verdict, neighbour
from dph_theory.support.record import from_json
from dph_theory.theorems import THEOREMS
from dph_theory.verification.reports import Report, Settings
from dph_theory.verification.run import select, verify, verify_one

SMALL = Settings(500, 64, 5, 4)


@pytest.mark.parametrize("theorem", [BINOMIAL, PINSKER, NEEDLE, LIMIT], ids=lambda t: t.name)
def test_an_entry_comes_out_as_expected(theorem):
    report = verify_one(theorem, SMALL)
    assert report.unexpected == ()
    assert report.fallen == len(report.false_neighbours) == 1
    assert report.exact == {"toy.limit": 0, "toy.needle": 1}.get(theorem.name, 5)


def test_a_false_statement_is_refuted_and_a_true_one_is_no_counterexample():
    false = replace(PINSKER.changed(PINSKER.false_neighbours[0]), false=False)
    assert verify_one(false, SMALL).verdict == Verdict.REFUTED
    assert not verify_one(false, SMALL).as_expected
    claimed = verify_one(replace(PINSKER, false=True), SMALL)
    assert (claimed.verdict, claimed.as_expected) == (Verdict.CHECKED, False)


def test_a_neighbour_that_is_true_and_an_example_that_balls_cannot_decide_are_not_as_expected():
    weaker = neighbour("weaker", at=example(pi=".9 .1", ref=".5 .5"), rhs=lambda pi, ref: 9 + 0 * pi[:, 0])
    report = verify_one(replace(PINSKER, false_neighbours=(weaker,)), SMALL)
    assert (report.verdict, report.as_expected) == (Verdict.CHECKED, False)
    assert report.unexpected == ("false neighbour not refuted: weaker",)

    def never_narrow(x, y):
        return (x + y) ** 2 + (0 * x * arb.nan() if x.dtype == object else 0)

    undecided = replace(BINOMIAL, rhs=never_narrow, examples=(example(x=".5", y=".25"),))
    assert "example 1: the balls stay too wide to tell" in verify_one(undecided, SMALL).unexpected


def test_names_may_be_prefixes_and_what_needs_a_package_that_is_not_installed_is_left_out():
    chosen = [theorem.name for theorem in select(["a8", "C2.old"])]
    assert chosen == ["A8.decomposition", "A8.frontier", "A8.equality", "C2.old"]
    assert [t.name for t in select(["d"])] == [name for name in THEOREMS if name.startswith("D")]
    assert len(select([])) == len(THEOREMS)
    assert verify([replace(BINOMIAL, needs="a_package_that_is_not_there")], SMALL) == []


@pytest.mark.parametrize("name", ["A5.slope", "C2.old", "A8.decomposition"])
def test_a_report_is_read_back_from_its_json_as_it_was(name):
    report = verify_one(THEOREMS[name], SMALL)
    plain = json.loads(json.dumps(report.as_json()))
    assert plain["as_expected"] is True
    assert plain["expected"] == plain["verdict"] == str(THEOREMS[name].expected)
    assert from_json(Report, plain) == report
