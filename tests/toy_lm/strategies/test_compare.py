from dataclasses import replace

import numpy as np
import pytest

from toy_lm.strategies.compare import compare, methods, on_random_tasks, where_direction_matters
from toy_lm.strategies.config import Config

CONFIG = replace(Config.quick(), learning_rate=2.0, strengths=(1.0,), steps=80, draws=(1, 16, 256))


@pytest.fixture(scope="module")
def found():
    return compare(CONFIG, lambda done, total: None)


def test_every_direction_is_a_method_at_every_place_with_matched_curvature():
    rows = list(methods(CONFIG))
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


def test_the_base_is_the_start_of_every_training(found):
    assert found["base"]["pass_at_draws"][:2] == pytest.approx([0.3514, 0.8146860060586728], rel=1e-14)
    for row in found["methods"]:
        assert row["training"]["pass_at_1"][0] == pytest.approx(found["base"]["pass_at_1"], rel=1e-14)
        assert row["training"]["step"][0] == 0
        assert row["training"]["pass_at_k"][-1] == row["pass_at_k"] == row["pass_at_draws"][1]


def test_grpo_narrows_to_one_strategy_and_the_anchored_do_not(found):
    rows = {row["name"]: row for row in found["methods"]}
    free, held = rows.pop("GRPO"), rows["DPH-F"]
    assert free["pass_at_draws"][-1] < found["base"]["pass_at_draws"][-1]
    assert np.array(free["strategies"])[:, 0].min() > 0.8
    assert np.array(held["strategies"])[:, 0].max() < 0.6
    assert all(row["pass_at_k"] > found["base"]["pass_at_k"] for row in rows.values())


def test_the_meter_leads_under_grpo_by_fewer_steps_the_higher_its_threshold(found):
    leads = [lead["lead"] for lead in found["methods"][0]["leads"]]
    assert leads == sorted(leads, reverse=True)
    assert leads[0] > 5


def test_a_type_s_pass_rate_is_its_strategy_s_mass_times_its_skill(found):
    for row in found["methods"]:
        own = np.diag(np.array(row["strategies"])[1:]) * row["skill"]
        np.testing.assert_allclose(row["pass_rates"], [0.97, *own], rtol=1e-12)


def test_the_direction_is_told_at_the_strength_of_the_widest_gap_on_d_pef(found):
    rows = [("D_pef", 0.1, 0.2), ("D_pef", 1.0, -0.3), ("all prompts", 10.0, 0.9)]
    directions = [{"place": place, "strength": strength, "gap": gap} for place, strength, gap in rows]
    weak = where_direction_matters(CONFIG, directions)
    assert weak["strength"] == 1.0
    compared = {row["name"]: row["pass_at_draws"] for row in found["methods"]}
    assert list(weak["pass_at_draws"]) == ["DPH-F", "DPH-JS", "DPH-alpha", "reverse KL on D_pef"]
    for name, curve in weak["pass_at_draws"].items():
        assert curve == pytest.approx(compared[name], abs=1e-12)


def test_random_tasks_depend_on_the_generator_alone():
    short = replace(CONFIG, random_tasks=5, steps=10)
    first, again, other = (on_random_tasks(short, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert first == again != other
    for row in first["methods"]:
        mean, low, high = row["pass_at_1_change"]
        assert low < mean < high
        assert 0 <= row["rise_and_fall"] <= 1
