import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.small_strategies_run import SMALL, small_record

from dph_theory import beta_for_mean_validity, tilted
from dph_theory.meter import LeadTime, lead_time
from dph_theory.support.files import write_json
from dph_theory.support.record import checked
from toy_lm.strategies import run
from toy_lm.strategies.experiment import (
    compare,
    kept_steps,
    methods,
    mirror_ascent,
    on_random_tasks,
    sweep,
    targets,
    where_direction_matters,
)
from toy_lm.strategies.results import Config
from toy_lm.strategies.train import Anchor, measure, train

CONFIG = replace(
    Config(),
    learning_rate=1.0,
    steps=750,
    conditionings=(0.0, 0.1, 1.0),
    strengths=(1.0,),
    targets=(0.55, 0.75),
)


@pytest.fixture(scope="module")
def found():
    return targets(CONFIG)


def test_an_unrestricted_policy_reaches_its_target_exactly(found):
    np.testing.assert_allclose(found["predicted"], CONFIG.targets, rtol=1e-13)
    np.testing.assert_allclose(found["unrestricted"], CONFIG.targets, rtol=1e-12)


def test_beta_counts_every_prompt_once(found):
    rates = [0.97] * 15 + [0.12] * 10 + [0.1] * 7 + [0.08] * 7 + [0.06] * 6 + [0.04] * 5
    expected = [beta_for_mean_validity(rates, mu) for mu in CONFIG.targets]
    np.testing.assert_allclose(found["beta"], expected, rtol=1e-12)
    # Types counted once each would ask for another beta.
    by_type = beta_for_mean_validity([0.97, 0.12, 0.1, 0.08, 0.06, 0.04], 0.55)
    assert abs(by_type / expected[0] - 1) > 0.01


def test_mirror_ascent_ends_at_the_tilted_model():
    task, beta = CONFIG.task, np.array([0.3, 1.0])
    law = mirror_ascent(task, beta, 60)
    for row, b in zip(law, beta, strict=True):
        np.testing.assert_allclose(row, tilted(task.base_law, task.valid, np.full(6, b)), rtol=1e-12)
    assert np.abs(mirror_ascent(task, beta, 3)[0] - law[0]).max() > 0.01


def test_shared_strategies_fall_short_unless_they_condition(found):
    reached, limit = np.array(found["reached"]), np.array(found["best_of_family"])
    assert (limit < CONFIG.targets).all()
    assert (np.diff(reached, axis=0) > 0).all()
    np.testing.assert_allclose(reached[-1][0], limit[0], atol=3e-3)
    assert (limit - reached[1] > 0.1).all()


def test_with_time_the_best_of_the_family_is_reached():
    changes = {"conditioning": 1.0, "conditionings": (1.0,), "targets": (0.45,)}
    patient = targets(replace(CONFIG, **changes, learning_rate=2.0, steps=1200))
    np.testing.assert_allclose(patient["reached"][0], patient["best_of_family"], atol=3e-6)


SWEPT = replace(
    Config(),
    learning_rate=1.0,
    steps=200,
    conditionings=(0.1, 1.0),
    strengths=(0.1, 1.0, 3.0),
    alphas=(0.5, 0.9),
    rises=(0.02, 0.1),
)


@pytest.fixture(scope="module")
def blocks():
    return sweep(SWEPT, lambda done, total: None)


def test_there_is_a_block_for_none_and_for_each_divergence_and_place(blocks):
    divergences = ["forward_kl", "jensen_shannon", "alpha_0.5", "reverse_kl", "alpha_0.9"]
    expected = [(None, None), *((d, place) for place in ("D_pef", "all prompts") for d in divergences)]
    assert [(block.get("divergence"), block.get("place")) for block in blocks] == expected
    shapes = {(b.get("divergence"), np.shape(b["pass_at_k"]), np.shape(b["meter_step"])) for b in blocks}
    assert (None, (2, 1), (2, 2, 1)) in shapes
    assert ("reverse_kl", (2, 3), (2, 2, 3)) in shapes
    assert ("alpha_0.9", (1, 3), (2, 1, 3)) in shapes


def test_an_entry_is_the_training_it_stands_for(blocks):
    block = next(
        b for b in blocks if (b.get("divergence"), b.get("place")) == ("jensen_shannon", "all prompts")
    )
    anchor, keep = Anchor(SWEPT.divergences["JS"], everywhere=True), kept_steps(200)
    run = train(SWEPT.task, anchor, np.array(0.2), np.array(1.0), SWEPT.optimiser, keep)
    found = measure(run, SWEPT.task, 16)
    # Its strength eta f''(1) is 0.1, and the f''(1) of JS 1/2.
    assert block["pass_at_k"][1][0] == pytest.approx(found.pass_at_k[-1], rel=1e-12)
    for index, rise in enumerate(SWEPT.rises):
        expected = lead_time(keep, found.excess_kl, found.pass_at_k, rise=rise, fall=SWEPT.fall)
        assert LeadTime(block["meter_step"][index][1][0], block["coverage_step"][1][0]) == expected


def test_at_equal_curvature_strong_anchors_agree_and_weak_ones_do_not(blocks):
    ends = {b["divergence"]: b["pass_at_k"][0] for b in blocks if b.get("place") == "D_pef"}
    gaps = np.abs(np.subtract(ends["forward_kl"], ends["reverse_kl"]))
    assert gaps[-1] < 0.001 < 0.03 < gaps[0]


def test_progress_is_told_from_the_first_block_to_the_last():
    heard = []
    sweep(replace(SWEPT, steps=1), lambda done, total: heard.append((done, total)))
    assert heard == [(done, 11) for done in range(12)]


@pytest.mark.parametrize("steps", [1, 2, 100, 2000])
def test_steps_are_kept_finely_at_first_and_to_the_end(steps):
    kept = kept_steps(steps)
    assert (kept[0], kept[-1]) == (0, steps)
    gaps = np.diff(kept)
    assert (gaps >= 1).all()
    assert (gaps <= np.maximum(1, 0.04 * kept[1:] + 1)).all()


COMPARED = replace(Config.quick(), learning_rate=2.0, strengths=(1.0,), steps=80, draws=(1, 16, 256))


@pytest.fixture(scope="module")
def compared():
    return compare(COMPARED, lambda done, total: None)


def test_every_direction_is_a_method_at_every_place_with_matched_curvature():
    rows = list(methods(COMPARED))
    assert [row.name for row in rows] == [
        "GRPO",
        "DPH-F",
        "DPH-JS",
        "DPH-alpha",
        "reverse KL on D_pef",
        "forward KL on all prompts",
        "JS on all prompts",
        "alpha on all prompts",
        "reverse KL on all prompts",
    ]
    assert [row.eta for row in rows] == [0, 1, 2, 1, 1, 1, 2, 1, 1]
    assert rows[0].anchor is None
    assert [row.anchor.everywhere for row in rows[1:]] == [False] * 4 + [True] * 4


def test_the_base_is_the_start_of_every_training(compared):
    base, rows = compared
    assert base["pass_at_draws"][:2] == pytest.approx((0.3514, 0.8146860060586728), rel=1e-14)
    for row in rows:
        assert row["pass_at_k_curve"][0] == pytest.approx(base["pass_at_k"], rel=1e-14)
        assert row["step"][0] == 0
        assert row["pass_at_k_curve"][-1] == row["pass_at_k"] == row["pass_at_draws"][1]


def test_grpo_narrows_to_one_strategy_and_the_anchored_do_not(compared):
    base, methods = compared
    rows = {row["name"]: row for row in methods}
    free, held = rows.pop("GRPO"), rows["DPH-F"]
    assert free["pass_at_draws"][-1] < base["pass_at_draws"][-1]
    assert free["easy_entropy"] < 0.3 < 1.2 < held["easy_entropy"]
    assert all(row["pass_at_k"] > base["pass_at_k"] for row in rows.values())


def test_the_meter_leads_under_grpo_by_fewer_steps_the_higher_its_threshold(compared):
    leads = [row["coverage_step"] - row["meter_step"] for row in compared[1][0]["leads"]]
    assert leads == sorted(leads, reverse=True)
    assert leads[0] > 5


def test_the_direction_is_told_at_the_strength_of_the_widest_gap_on_d_pef(compared):
    gaps = {("D_pef", 0.1): 0.2, ("D_pef", 1.0): -0.3, ("all prompts", 10.0): 0.9}
    rows = pd.Series(gaps).rename_axis(["place", "strength"]).to_frame("gap")
    weak = where_direction_matters(COMPARED, rows)
    assert weak["strength"] == 1.0
    compared = {row["name"]: row["pass_at_draws"] for row in compared[1]}
    assert list(weak["pass_at_draws"]) == ["DPH-F", "DPH-JS", "DPH-alpha", "reverse KL on D_pef"]
    for name, curve in weak["pass_at_draws"].items():
        assert curve == pytest.approx(compared[name], abs=1e-12)


def test_random_tasks_depend_on_the_generator_alone():
    short = replace(COMPARED, random_tasks=5, steps=10)
    first, again, other = (on_random_tasks(short, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert first == again != other
    for row in first:
        mean, low, high = row["pass_at_1_change"]
        assert low < mean < high
        assert 0 <= row["rise_and_fall"] <= 1


SHORT = replace(SMALL, steps=2)


def test_the_record_keeps_the_contract_and_survives_json(tmp_path):
    record = small_record()
    path = tmp_path / "strategies.json"
    write_json(path, record)
    assert json.loads(path.read_text()) == record == checked(record, "toy.strategies")
    assert record["config"]["strengths"] == [0.1, 1.0, 3.0]


def test_the_seed_draws_the_random_tasks_and_nothing_else():
    first, again, other = (run(SHORT, seed=seed)["results"] for seed in (0, 0, 1))
    assert first == again
    assert first.pop("random_tasks") != other.pop("random_tasks")
    assert first == other


def test_every_stage_is_told_to_its_end():
    heard = {}
    run(SHORT, progress=lambda stage, done, total: heard.setdefault(stage, []).append((done, total)))
    assert list(heard) == ["methods", "sweep", "targets and random tasks"]
    for told in heard.values():
        total = told[-1][1]
        assert told == [(done, total) for done in range(total + 1)]


def test_another_seed_than_a_whole_number_is_refused():
    with pytest.raises(ValueError, match="seed=-1"):
        run(SHORT, seed=-1)
