"""The study of public runs: how answers are read, what the accounts would show, what refutes them."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dph_theory.intervals import mean_interval
from figures.frames import Records

DOCS = Path(__file__).parents[1] / "docs"
PATH = Path(__file__).parents[1] / "benchmarks" / "real_runs.py"


@pytest.fixture(scope="module")
def study():
    sys.path.insert(0, str(PATH.parent))  # As for a script, what lies beside it can be imported.
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


def test_the_page_s_sentences_have_the_numbers_of_the_record():
    study, first = Records().results("real_runs"), "level1"
    plain = [group for group in study["groups"] if not group["replay"] and group["level"] == first]
    runs = [run for run in study["runs"] if not run["method"].startswith("replay") and run["level"] == first]
    clear = [run for run in runs if run["p"] < 0.05 and run["pass_1"][1] > run["pass_1"][0]]
    falls, rises = (sum(sign * (run["lost"] - run["gained"]) > 0 for run in clear) for sign in (1, -1))
    small = sum(run["any"][1] - run["pass_1"][1] <= 0.1 for run in runs)
    replayed = [cell["any"] for cell in study["replay"] if cell["level"] == first]
    varied = [group["p_varied_holm"] for group in plain if group.get("p_varied_holm") is not None]
    leads = [group for group in plain if group.get("best") is not None]
    data = study["data"][first]
    ends = pd.DataFrame(study["runs"]).assign(
        **{name: [run[name][1] for run in study["runs"]] for name in ("any", "pass_1")}
    )
    cells = ends.groupby(["level", "model", "domain", "method"])[["any", "pass_1"]].mean().unstack()
    by_divisor = {
        (name, one): "{:.3f} ({}{:.3f} to {:.3f})".format(*found)
        for name in ("any", "pass_1")
        for one, other in (("maxrl", "grpo"), ("grpo", "drgrpo"))
        for value, low, high in [mean_interval((cells[name][one] - cells[name][other]).dropna().to_numpy())]
        for found in [(value, "95% interval " if (name, one) == ("any", "maxrl") else "", low, high)]
    }
    words = " ".join((DOCS / "appendix" / "real-runs.md").read_text().split())
    for sentence in (
        f"in {sum(g['one_left'] for g in plain)} of {sum(g['solving'] for g in plain)} runs that solve ten",
        f"*Chance acts once a run* in {sum(p < 0.05 for p in varied)} of {len(varied)} models",
        f"in {sum(g['above'] >= 0.9 for g in leads)} of {len(leads)} models and domains nine of ten runs",
        f"in {sum(g['best'] == 1 for g in leads)} all lead with the best strategy, "
        f"in {sum(g['best'] == 0 for g in leads)} none does",
        f"in {falls} of {len(runs)} runs, both up in {rises} (McNemar, Holm); "
        f"Pass@11 minus Pass@1 is at most .10 in {small}.",
        f"raises Pass@11 in {sum(x['low'] > 0 for x in replayed)} of {len(replayed)} cells and lowers it in "
        f"{sum(x['high'] < 0 for x in replayed)} (95%",
        f"{data['repeated']:,} of {data['of']:,} at neighbouring places repeat the group before",
        f"in {data['bases_shared']} of {data['bases']} bases, whose pass rates have "
        f"{data['variance']['median']:.1f} times",
        f"(median; at most {data['variance']['most']:.0f})",
        *by_divisor.values(),
    ):
        assert sentence.split(" over 15")[0].rstrip(")") in words, sentence
