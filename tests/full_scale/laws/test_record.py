import dataclasses
import json

import pytest
from support.law_outcomes import FOUND, TASK, outcome

from full_scale.laws.record import HEADERS, outcome_from_json, summary, table_rows
from full_scale.laws.run import TOKEN_FORWARD, TOKEN_REVERSE, Run


def test_a_run_at_its_law_has_held():
    assert outcome().nearest == TOKEN_FORWARD
    assert outcome().gap == 0
    assert outcome().verdict == "held"


def test_a_planted_wrong_law_is_found_out():
    wrong = outcome(ended_at=2, kl=(0.1, 0.2, 0.001))
    assert wrong.nearest == TOKEN_REVERSE
    assert wrong.verdict == "missed: law"
    assert dataclasses.replace(outcome(ended_at=1)).verdict == "missed: validity"
    far = outcome(ended_at=1, kl=(0.3, 0.001, 0.2))
    assert far.verdict == "missed: law and validity"


def test_a_run_without_a_law_has_no_verdict():
    free = outcome(run=Run("degeneracy", TASK.name, "none"), found=())
    assert (free.nearest, free.gap, free.verdict) == (None, None, "no law")


def test_json_gives_back_the_outcome():
    found = outcome()
    assert outcome_from_json(json.loads(json.dumps(found.as_json()))) == found


def test_the_summary_is_what_figures_read():
    free = outcome(run=Run("degeneracy", TASK.name, "none", every=250), found=())
    found = summary([outcome(), free])
    runs = found["runs"]
    assert (runs["form"], runs["beta"]) == (["k3", "none"], [0.5, 0])
    assert runs["verdict"] == ["held", "no law"]
    assert runs["law"] == [TOKEN_FORWARD, None]
    assert (
        runs["validity"][0] == runs["law_validity"][0] == pytest.approx(FOUND[0].exact.validity[0], rel=1e-4)
    )
    assert runs[f"kl {TOKEN_REVERSE}"] == [0.1, None]
    (course,) = found["courses"]
    assert course["digest"] == free.run.digest == runs["digest"][1]
    assert course["step"] == [0, 250]


def test_rows_fit_the_headers():
    (row,) = table_rows([outcome()])
    assert len(row) == len(HEADERS)
    assert row[5] == TOKEN_FORWARD
