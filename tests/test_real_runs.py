"""The study of public runs: how answers are read, what the accounts would show, what refutes them."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from figures.frames import Records

PATH = Path(__file__).parents[1] / "benchmarks" / "real_runs.py"


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("real_runs_study", PATH)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


@pytest.mark.parametrize(
    ("domain", "answers", "names", "read"),
    [
        ("pantry_plan", ("p:v:beans+kale", "p:v:kale+oats"), 3, ("ab", "bc")),
        ("countdown",
         ("c:add(12,add(10,5))", "c:mul(5,sub(12,10))"), 3, ("add(c,add(a,b))", "mul(a,sub(c,b))")),
        ("countdown", ("c:add(add(10,5),12)",), 3, ("add(add(a,b),c)",)),
        ("graph_coloring", ("g:1213", "g:1223"), 1, ("1", "2")),
        ("mathir", ("m:v:eq(x)",), 0, ("eq(x)",)),
    ],
)  # fmt: skip
def test_a_strategy_is_an_answer_read_without_its_prompt(study, domain, answers, names, read):
    found = study.strategies_of(domain, set(answers))
    assert found == (names, dict(zip(answers, read, strict=True)))


def test_answers_that_repeat_another_group_are_left_out(study):
    groups = [[f"{i + j}" for j in range(8)] for i in range(4)]
    assert study.different(groups) == [f"{i}" for i in range(11)]


def test_p_values_hold_at_once(study):
    assert study.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


MEASURES = {"own": 1.0, "base_agrees": 0.2, "likeliest": 0.3, "with_base": 0.1, "least": 0.0}
LUCKY = MEASURES | {"p_named_holm": 0.001, "p_varied_holm": 0.001, "above": 1.0, "best": 0.2}
ALIKE = {"p_varied_holm": 0.5, "p_named_holm": 1.0, "least": 0.95, "best": 1.0}
ALONE = {"with_base": 0.2, "p_named_holm": 0.6, "likeliest": 0.95, "p_varied_holm": 0.5}


@pytest.mark.parametrize(
    ("changed", "holds"),
    [
        ({}, {"shared, merit with luck"}),
        ({"above": 0.3}, {"shared, by luck"}),
        (ALIKE, {"shared, by merit"}),
        ({"own": 0.22}, {"kept", "shared, merit with luck"}),
        (ALONE, {"likeliest", "a lottery a prompt"}),
    ],
)
def test_what_was_written_down_decides(study, changed, holds):
    assert {name for name, verdict in study.verdicts(LUCKY | changed).items() if verdict == "holds"} == holds


def test_the_record_is_that_of_475_runs_and_the_published_row(study):
    told = Records().results("real_runs")
    assert len(told["runs"]) == 474  # One of 475 has no answers after training.
    assert told["data"]["level1"]["independent"]["11"] > 200
    assert told["deepscaler"]["theirs"] == {"better": [1, 10], "worse": [61, 128], "first_worse": [11, 61]}
    assert told["deepscaler"]["ours"]["first_worse"] == [10, 66]
    assert np.array(told["matrix"]["left"]).shape[0] == 15
    for of in told["groups"]:
        assert ("verdicts" in of) == (of["counts"] and not of["replay"])


@pytest.mark.skipif(importlib.util.find_spec("remax") is None, reason="make real-runs installs the wheel")
def test_the_wheel_holds_what_the_record_says(study):
    runs = study.read_runs(study.archive())
    found = study.matrix(runs, study.readings(runs), "level1", "qwen05b", "pantry_plan")
    assert found == Records().results("real_runs")["matrix"]
