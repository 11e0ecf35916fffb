"""One small run of the experiment, and all that is asked of its record: numbers, sentences, tables."""

import re
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from dph_theory.meter import LeadTime, lead_time
from toy_lm.strategies import StrategiesConfig, run, tables
from toy_lm.strategies.experiment import methods, on_random_tasks, recorded_steps
from toy_lm.strategies.results import directions, findings, meter_warnings, method
from toy_lm.strategies.train import Anchor, measure, train

SWEEP = {
    "conditionings": (0.1, 1.0),
    "strengths": (0.1, 1.0, 3.0),
    "alphas": (0.5, 0.9),
    "rises": (0.02, 0.1),
}
SMALL = StrategiesConfig(learning_rate=1.0, steps=160, draws=(1, 16, 256), random_tasks=4, **SWEEP)


@pytest.fixture(scope="module")
def record():
    return run(SMALL)


@pytest.fixture(scope="module")
def results(record):
    return record["results"]


def test_the_sweep_has_a_block_for_none_and_for_each_divergence_and_place(results):
    blocks = {(block.get("divergence"), block.get("place")): block for block in results["sweep"]}
    divergences = ["forward_kl", "jensen_shannon", "alpha_0.5", "reverse_kl", "alpha_0.9"]
    assert [*blocks] == [(None, None), *((d, p) for p in ("D_pef", "all prompts") for d in divergences)]
    shapes = {of: (np.shape(b["pass_at_k"]), np.shape(b["meter_step"])) for (of, _), b in blocks.items()}
    assert shapes[None] == ((2, 1), (2, 2, 1))
    assert shapes["reverse_kl"] == ((2, 3), (2, 2, 3))
    # Other alphas than the configured one are tried at its conditioning only.
    assert shapes["alpha_0.9"] == ((1, 3), (2, 1, 3))
    # At equal curvature strong anchors agree and weak ones do not.
    forward, reverse = (blocks[name, "D_pef"]["pass_at_k"][0] for name in ("forward_kl", "reverse_kl"))
    gaps = np.abs(np.subtract(forward, reverse))
    assert gaps[-1] < 0.001 < 0.03 < gaps[0]


def test_an_entry_of_the_sweep_is_the_training_it_stands_for(results):
    wanted = {"divergence": "jensen_shannon", "place": "all prompts"}
    block = next(b for b in results["sweep"] if b.items() >= wanted.items())
    anchor, keep = Anchor(SMALL.divergences["JS"], everywhere=True), recorded_steps(SMALL.steps)
    # The strength eta f''(1) is 0.1, and the f''(1) of JS 1/2.
    found = measure(
        train(SMALL.task, anchor, np.array(0.2), np.array(1.0), SMALL.optimiser, keep), SMALL.task, 16
    )
    assert block["pass_at_k"][1][0] == pytest.approx(found.pass_at_k[-1], rel=1e-12)
    for index, rise in enumerate(SMALL.rises):
        expected = lead_time(keep, found.excess_kl, found.pass_at_k, rise=rise, fall=SMALL.fall)
        assert LeadTime(block["meter_step"][index][1][0], block["coverage_step"][1][0]) == expected


@pytest.mark.parametrize("steps", [1, 2, 100, 2000])
def test_steps_are_kept_finely_at_first_and_to_the_end(steps):
    kept = recorded_steps(steps)
    assert (kept[0], kept[-1]) == (0, steps)
    gaps = np.diff(kept)
    assert (gaps >= 1).all()
    assert (gaps <= np.maximum(1, 0.04 * kept[1:] + 1)).all()


def test_every_direction_is_a_method_at_every_place_with_matched_curvature():
    assert [(row.name, row.eta, row.anchor and row.anchor.everywhere) for row in methods(SMALL)] == [
        ("GRPO", 0, None),
        ("DPH-F", 1, False),
        ("DPH-JS", 2, False),
        ("DPH-alpha", 1, False),
        ("reverse KL on D_pef", 1, False),
        ("forward KL on all prompts", 1, True),
        ("JS on all prompts", 2, True),
        ("alpha on all prompts", 1, True),
        ("reverse KL on all prompts", 1, True),
    ]


def test_from_one_base_grpo_narrows_to_one_strategy_and_the_anchored_do_not(results):
    base, free, held = results["base"], method(results, "GRPO"), method(results, "DPH-F")
    assert base["pass_at_draws"][:2] == pytest.approx((0.3514, 0.8146860060586728), rel=1e-14)
    for row in results["methods"]:
        assert row["step"][0] == 0
        assert row["pass_at_k_curve"][0] == pytest.approx(base["pass_at_k"], rel=1e-14)
        assert row["pass_at_k_curve"][-1] == row["pass_at_k"] == row["pass_at_draws"][1]
        assert (row["pass_at_k"] > base["pass_at_k"]) == (row["name"] != "GRPO")
    assert free["easy_entropy"] < 0.3 < 1.2 < held["easy_entropy"]
    # The meter leads under GRPO, by fewer steps the higher its threshold.
    leads = [row["coverage_step"] - row["meter_step"] for row in free["leads"]]
    assert leads == sorted(leads, reverse=True)
    assert leads[0] > 5


def test_the_seed_draws_the_random_tasks_and_nothing_else():
    first, other = (run(replace(SMALL, steps=2), seed=seed)["results"] for seed in (0, 1))
    assert first.pop("random_tasks") != other.pop("random_tasks")
    assert first == other
    for row in on_random_tasks(replace(SMALL, steps=10), np.random.default_rng(0)):
        mean, low, high = row["pass_at_1_change"]
        assert low < mean < high
        assert 0 <= row["rise_and_fall"] <= 1


def test_directions_are_compared_at_the_configured_conditioning(results):
    rows = directions(SMALL, results["sweep"])
    assert list(rows.index) == [(p, s) for p in ("D_pef", "all prompts") for s in (0.1, 1.0, 3.0)]
    told = rows["pass_at_k"].loc["all prompts", 1.0]
    names = {"forward KL": "forward_kl", "JS": "jensen_shannon", "alpha": "alpha_0.5"}
    names["reverse KL"] = "reverse_kl"
    for block in results["sweep"]:
        for name, divergence in names.items():
            if (block.get("divergence"), block.get("place")) == (divergence, "all prompts"):
                assert told[name] == block["pass_at_k"][0][1]
    assert rows.gap["all prompts", 1.0] == told["forward KL"] - told["reverse KL"]


def test_the_meter_counts_warnings_leads_and_false_alarms():
    falls = ((100, 60), (None, None))
    early, late = ((80, 10), (5, None)), ((None, 70), (None, None))
    rows = meter_warnings(SMALL, [{"coverage_step": falls, "meter_step": (early, late)}])
    found = [(row.rise, len(row.leads), len(row.fallen), row.warned_before, row.false_alarms) for row in rows]
    assert found == [(0.02, 4, 2, 2, 1), (0.1, 4, 2, 0, 0)]
    assert [row.steps_ahead for row in rows] == [[20, 50], [-10]]


def numbers(sentence):
    return [float(found) for found in re.findall(r"[-+]?\b\d+\.\d+\b", sentence)]


def test_sentences_and_tables_hold_the_numbers_of_the_results(record):
    record = deepcopy(record)
    results = record["results"]
    methods, direction, random, warned = record["findings"]
    scores = (results["base"], method(results, "GRPO"), method(results, "DPH-F"))
    assert numbers(methods) == [round(x[name], 3) for x in scores for name in ("pass_at_1", "pass_at_k")]
    gaps = directions(SMALL, results["sweep"]).loc["D_pef"].gap
    assert numbers(direction)[0] == gaps.abs().idxmax()
    assert numbers(random)[0] == round(results["random_tasks"][0]["pass_at_k_change"][0], 3)
    results["base"]["pass_at_1"] = 0.125
    assert numbers(findings(SMALL, results)[0])[0] == 0.125
    row = meter_warnings(SMALL, results["sweep"])[1]
    assert f"in {row.warned_before} of the {len(row.fallen)} trainings" in warned
    for block in results["sweep"]:
        block["coverage_step"] = [[None for _ in row] for row in block["coverage_step"]]
    assert "in 0 of the 0 trainings" in findings(SMALL, results)[3]
    (shown,) = tables(record)
    assert len(shown.rows) == 10
    assert f"{results['base']['pass_at_k']:.3f}" in shown.rows[0]
