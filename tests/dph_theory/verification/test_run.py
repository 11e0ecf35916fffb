import json
from dataclasses import replace

import pytest
from support.small_theorems import PINSKER

from dph_theory.support.record import from_json
from dph_theory.theorems import THEOREMS
from dph_theory.verification import run
from dph_theory.verification.charts import Chart, simplex, uniform
from dph_theory.verification.reports import Report, SearchSettings
from dph_theory.verification.run import select, verify, verify_one
from dph_theory.verification.statement import Verdict

SMALL = SearchSettings(500, 64, 5, 4)


def test_a_false_statement_is_refuted_and_a_true_one_is_no_counterexample():
    false = replace(PINSKER.changed(PINSKER.false_neighbours[0]), false=False)
    assert verify_one(false, SMALL).verdict == Verdict.REFUTED
    assert not verify_one(false, SMALL).as_expected
    claimed = verify_one(replace(PINSKER, false=True), SMALL)
    assert (claimed.verdict, claimed.as_expected) == (Verdict.CHECKED, False)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"base": simplex(5, zeros=True)}, "base_rate="),
        ({"valid": uniform(0, 1, 5)}, "only booleans, or zeros and ones"),
    ],
)
def test_an_assumption_that_functions_refuse_fails_its_entry_and_no_other(monkeypatch, part, said):
    cost = THEOREMS["kl_control.cost"]
    changed = replace(cost, instances=Chart({**cost.instances.parts, **part}))
    monkeypatch.setattr(run, "THEOREMS", {**THEOREMS, "kl_control.cost": changed})
    failed, other = verify([changed, THEOREMS["kl_control.slope"]], SMALL, workers=1)
    assert (failed.verdict, failed.as_expected, failed.fallen) == (Verdict.FAILED, False, 0)
    (reason,) = failed.unexpected
    assert "has no value at a test case: ValueError: " in reason
    assert said in reason
    assert "kl_control.py:" in reason
    assert failed.witness.keys() == {"base", "valid", "beta"}
    assert other.as_expected


def test_names_may_be_prefixes():
    chosen = [theorem.name for theorem in select(["pinsker", "dph_theorem_1.old"])]
    assert chosen == ["pinsker.kl", "pinsker.js", "pinsker.alpha", "dph_theorem_1.old"]
    assert select(["coverage"]) == select(["pass_at_k", "falling_pass_at_k"])
    assert select(["kl_control.cost"]) == select(["KL_control.COST"])
    assert len(select([])) == len(THEOREMS)


@pytest.mark.parametrize("name", ["kl_control.slope", "dph_theorem_1.old", "many_prompts.range"])
def test_a_report_is_read_back_from_its_json_as_it_was(name):
    report = verify_one(THEOREMS[name], SMALL)
    plain = json.loads(json.dumps(report.as_json()))
    assert plain["as_expected"] is True
    assert plain["expected"] == plain["verdict"] == str(THEOREMS[name].expected)
    assert from_json(Report, plain) == report
