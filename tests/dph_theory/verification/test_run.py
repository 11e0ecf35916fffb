import json
from dataclasses import replace

import pytest
from support.small_theorems import BINOMIAL, LIMIT, PINSKER

from dph_theory.statement.theorem import Verdict, neighbour
from dph_theory.theorems import THEOREMS
from dph_theory.verification import run
from dph_theory.verification.checks import CHECKS, CheckResult, applies
from dph_theory.verification.run import (
    attack,
    expected_verdict,
    overall,
    seed_for,
    select,
    verify,
    verify_one,
)
from dph_theory.verification.settings import Settings

SMALL = Settings(instances=500, quick=True)


@pytest.mark.parametrize("theorem", [BINOMIAL, PINSKER, LIMIT], ids=lambda t: t.name)
def test_a_true_theorem_comes_out_as_expected(theorem):
    report = verify_one(theorem, SMALL)
    assert report.as_expected
    assert all(n.refuted and "adversarial" in n.found_by for n in report.neighbours)


def test_a_wrong_expectation_is_seen():
    assert not verify_one(replace(PINSKER, expected=Verdict.REFUTED), SMALL).as_expected


def test_a_neighbour_that_is_true_is_seen():
    harmless = replace(
        PINSKER, false_neighbours=(neighbour("a weaker constant", rhs=lambda pi, ref: 9 + 0 * pi[:, 0]),)
    )
    report = verify_one(harmless, SMALL)
    assert report.verdict is Verdict.CERTIFIED
    assert not report.as_expected


def test_a_violation_outweighs_every_agreement():
    results = [CheckResult("symbolic", Verdict.PROVED, 1), CheckResult("numeric", Verdict.REFUTED, 1)]
    assert overall(results) is Verdict.REFUTED
    assert overall(results[:1]) is Verdict.PROVED


def test_fewer_checks_expect_less():
    everything = ("symbolic", "numeric", "adversarial", "certified")
    assert expected_verdict(BINOMIAL, everything) is Verdict.PROVED
    assert expected_verdict(BINOMIAL, ("numeric", "certified")) is Verdict.CERTIFIED
    assert expected_verdict(BINOMIAL, ("numeric",)) is Verdict.HOLDS
    assert expected_verdict(LIMIT, everything) is Verdict.HOLDS


def test_what_is_to_be_proved_and_has_no_derivation_is_not_as_expected():
    report = verify_one(replace(BINOMIAL, symbolic=None), SMALL)
    assert (report.verdict, report.expected) == (Verdict.CERTIFIED, Verdict.PROVED)
    assert not report.as_expected


def test_random_points_alone_do_not_refute_a_neighbour(monkeypatch):
    # The search must succeed too: here it is replaced by one that never finds anything.
    blind = {**CHECKS, "adversarial": lambda theorem, **_: CheckResult("adversarial", Verdict.HOLDS, 0)}
    monkeypatch.setattr("dph_theory.verification.run.CHECKS", blind)
    found = attack(BINOMIAL, BINOMIAL.false_neighbours[0], Settings(instances=500))
    assert found.found_by == ("numeric", "certified")
    assert not found.refuted


def test_the_short_form_attacks_neighbours_by_the_search_alone():
    assert attack(BINOMIAL, BINOMIAL.false_neighbours[0], SMALL).found_by == ("adversarial",)


def test_random_instances_are_not_asked_to_refute_neighbours():
    assert attack(BINOMIAL, BINOMIAL.false_neighbours[0], Settings(checks=("numeric", "certified"))) is None


def test_a_bound_called_tight_must_be_nearly_attained():
    slack = replace(PINSKER, rhs=lambda pi, ref: 1.1 * PINSKER.rhs(pi, ref), false_neighbours=())
    report = verify_one(slack, SMALL)
    assert report.verdict is report.expected
    assert (report.tight, report.as_expected) == (False, False)
    assert verify_one(replace(slack, tight=None), SMALL).as_expected
    # Nothing that could have come near equality was run.
    assert verify_one(slack, replace(SMALL, checks=("certified",))).tight is None


def test_a_tight_bound_that_the_short_search_leaves_slack_is_searched_again():
    alone = replace(THEOREMS["C3.anchor"], false_neighbours=())
    settings = replace(SMALL, checks=("adversarial",), seed=1)
    seed = seed_for(settings.seed, alone.name)
    assert run.CHECKS["adversarial"](alone, seed=seed, **run.QUICK["adversarial"]).tightness < run.TIGHT
    assert verify_one(alone, settings).tight


def test_a_theorem_that_needs_what_is_not_installed_is_left_out():
    elsewhere = replace(BINOMIAL, needs="a_package_that_is_not_there")
    assert not any(applies(check, elsewhere) for check in SMALL.checks)
    assert verify([elsewhere], SMALL) == []


def test_what_loads_a_package_is_checked_in_one_process_and_the_rest_one_by_one():
    chosen = select([])
    first, *others = run._jobs(chosen)
    assert first == tuple(t.name for t in chosen if t.needs == "torch")
    assert len(first) > 1
    assert sorted([*first, *(name for (name,) in others)]) == sorted(THEOREMS)


def test_seeds_depend_on_the_name_and_the_seed_only():
    assert seed_for(0, "A5.validity") == seed_for(0, "A5.validity") != seed_for(1, "A5.validity")
    assert seed_for(0, "A5.validity") != seed_for(0, "A5.cost")


def test_names_may_be_prefixes():
    chosen = [theorem.name for theorem in select(["a8", "C2.old"])]
    assert chosen == ["A8.decomposition", "A8.frontier", "A8.equality", "C2.old"]
    assert [t.name for t in select(["d"])] == [name for name in THEOREMS if name.startswith("D")]
    assert len(select([])) == len(THEOREMS)


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match=r"theorem='Z9' .*nearest names are \w+\.\w+, "):
        select(["Z9"])


@pytest.mark.slow
def test_reports_keep_the_order_and_the_same_seed_gives_the_same_json():
    theorems = select(["A8", "A5.validity"])
    seen = []
    first, second = (
        [r.as_json() for r in verify(theorems, SMALL, on_report=seen.append, workers=w)] for w in (2, 1)
    )
    assert [r["theorem"] for r in first] == [t.name for t in theorems]
    assert len(seen) == 2 * len(theorems)
    for report in (*first, *second):
        for check in report["checks"]:
            assert check.pop("seconds") >= 0
    assert json.dumps(first) == json.dumps(second)


def test_the_json_has_the_documented_keys():
    report = verify_one(THEOREMS["C2.old"], SMALL).as_json()
    assert {"theorem", "source", "expected", "verdict", "given", "checks", "false_neighbours"} <= set(report)
    keys = {
        "check",
        "verdict",
        "instances",
        "worst_violation",
        "tightness",
        "witness",
        "claims",
        "boxes",
        "seed",
        "seconds",
    }
    assert all(set(check) == keys for check in report["checks"])
    assert all({"name", "refuted", "found_by"} <= set(n) for n in report["false_neighbours"])
    assert report["expected"] == report["verdict"] == "REFUTED"
    symbolic = Settings(checks=("symbolic",))
    proved = verify_one(THEOREMS["A8.frontier"], symbolic).as_json()
    assert proved["given"] == ["A8.decomposition", "L1.gibbs"]
    (step,) = proved["checks"][0]["claims"]
    assert step == {"claim": "the room", "verdict": "PROVED", "decided_by": ["z3", "sympy"]}
