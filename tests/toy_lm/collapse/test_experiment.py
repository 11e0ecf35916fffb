import json
from dataclasses import asdict

import numpy as np
import pytest

from toy_lm.collapse import Config
from toy_lm.collapse.findings import select
from toy_lm.collapse.problem import random_brackets


def reverse_kl(record, family, method):
    fits = record["results"]["reference"]["fits"]
    return select(fits, family=family, objective="reverse_kl", method=method)


def test_the_reference_case(small_record):
    reference = small_record["results"]["reference"]
    (target,) = reference["targets"]
    assert target["base_rate"] == pytest.approx(0.0455, abs=5e-5)
    assert target["entropy"] == pytest.approx(2.067, abs=5e-4)
    best = {line["lambda"]: line for line in reverse_kl(small_record, "homogeneous", "global")}
    assert best[4.0]["validity"] == pytest.approx(0.0900, abs=5e-5)
    assert best[10.0]["top"] == pytest.approx(0.9997, abs=5e-5)
    assert [best[x]["collapsed"] for x in (4.0, 4.5, 10.0)] == [False, True, True]
    kept = {line["lambda"]: line for line in reverse_kl(small_record, "inhomogeneous", "global")}
    assert kept[10.0]["effective"] == pytest.approx(5.81, abs=5e-3)
    (forward,) = select(reference["fits"], family="homogeneous", objective="forward_kl")
    assert (forward["coverage"], forward["validity"]) == pytest.approx((0.888, 0.283), abs=5e-4)
    alphas = select(reference["fits"], family="homogeneous", objective="alpha")
    assert {line["alpha"]: line["collapsed"] for line in alphas} == {0.75: False, 0.5: True}


def test_ascent_and_annealing_stay_behind_the_jump(small_record):
    for method in ("ascent", "annealing"):
        lines = {line["lambda"]: line for line in reverse_kl(small_record, "homogeneous", method)}
        assert lines[4.0]["is_global"]
        assert not lines[4.5]["is_global"]
        assert lines[4.5]["above"] == pytest.approx(0.25109, abs=1e-4)
        assert lines[4.5]["effective"] > 5
        assert lines[10.0]["collapsed"]
    (leap,) = select(small_record["results"]["reference"]["leaps"], family="homogeneous")
    assert leap["jump"]["strength"] == pytest.approx(4.17548, abs=1e-5)


def test_targets_are_tried_at_the_beta_that_theory_gives_them(small_record):
    rate = small_record["results"]["reference"]["targets"][0]["base_rate"]
    aimed = [x for x in reverse_kl(small_record, "homogeneous", "global") if x["mu"] is not None]
    assert [line["mu"] for line in aimed] == [0.7, 0.9]
    for line in aimed:
        odds = rate / (1 - rate) * np.exp(line["lambda"])
        assert odds / (1 + odds) == pytest.approx(line["mu"])


def test_the_record_is_json_and_says_what_was_run(small_record, small_progress):
    assert json.loads(json.dumps(small_record))["results"] == small_record["results"]
    assert small_record["config"]["strengths"] == (4.0, 4.5, 10.0)
    assert small_record["findings"]
    reference, (brackets, counts) = small_record["results"]["reference"], small_record["results"]["random"]
    assert (reference["words"], reference["valid_words"]) == (256, 14)
    assert (counts["words"], counts["valid_words"]) == (729, 90)
    assert len(brackets["targets"]) == 1
    assert {line["direction"] for line in reference["branches"]} == {"rising", "falling"}
    assert {line["objective"] for line in reference["paths"]} == {"reverse_kl", "reward"}
    assert [done for _, done, _ in small_progress] == list(range(7))
    assert {(stage, total) for stage, _, total in small_progress} == {("families fitted", 6)}


def test_excess_kl_along_a_path_starts_at_nothing(small_record):
    paths = select(small_record["results"]["reference"]["paths"], family="homogeneous")
    assert all(line["excess_kl"] == 0 for line in select(paths, step=0))
    last = [x for x in select(paths, objective="reverse_kl") if x["lambda"] == 10.0][-1]
    assert last["excess_kl"] > 0.9


def test_the_seed_decides(small_record):
    (target,) = small_record["results"]["random"][0]["targets"]
    rates = [random_brackets(1, np.random.default_rng(seed)).base_rates[0] for seed in (0, 1)]
    assert small_record["seed"] == 0
    assert target["base_rate"] == rates[0] != rates[1]


def test_the_quick_run_is_a_part_of_the_full_one():
    quick, full = asdict(Config.quick()), asdict(Config())
    for name, value in quick.items():
        assert set(value) <= set(full[name]) if isinstance(value, tuple) else value <= full[name]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("starts", 0),
        ("rounds", 0),
        ("strengths", ()),
        ("strengths", (1.0, -1.0)),
        ("alphas", (1.0,)),
        ("targets", (0.0,)),
        ("random_alphas", (float("nan"),)),
        ("random_targets", (0.3,)),
    ],
)
def test_bad_configurations_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name}="):
        Config(**{name: value})
