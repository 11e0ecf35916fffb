from dataclasses import replace

import numpy as np
import pytest

from toy_lm.strategies.compare import compare, methods, on_random_tasks, where_direction_matters
from toy_lm.strategies.config import Config
from toy_lm.strategies.summary import Direction

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
    base, rows = found
    assert base.pass_at_draws[:2] == pytest.approx((0.3514, 0.8146860060586728), rel=1e-14)
    for row in rows:
        assert row.pass_at_k_curve[0] == pytest.approx(base.pass_at_k, rel=1e-14)
        assert row.step[0] == 0
        assert row.pass_at_k_curve[-1] == row.pass_at_k == row.pass_at_draws[1]


def test_grpo_narrows_to_one_strategy_and_the_anchored_do_not(found):
    base, methods = found
    rows = {row.name: row for row in methods}
    free, held = rows.pop("GRPO"), rows["DPH-F"]
    assert free.pass_at_draws[-1] < base.pass_at_draws[-1]
    assert free.easy_entropy < 0.3 < 1.2 < held.easy_entropy
    assert all(row.pass_at_k > base.pass_at_k for row in rows.values())


def test_the_meter_leads_under_grpo_by_fewer_steps_the_higher_its_threshold(found):
    leads = [lead.lead for lead in found[1][0].leads]
    assert leads == sorted(leads, reverse=True)
    assert leads[0] > 5


def test_the_direction_is_told_at_the_strength_of_the_widest_gap_on_d_pef(found):
    kls = [("D_pef", 0.1, 0.2), ("D_pef", 1.0, -0.3), ("all prompts", 10.0, 0.9)]
    rows = [
        Direction(place=p, strength=s, pass_at_1={}, pass_at_k={"forward KL": gap, "reverse KL": 0.0})
        for p, s, gap in kls
    ]
    weak = where_direction_matters(CONFIG, rows)
    assert weak.strength == 1.0
    compared = {row.name: row.pass_at_draws for row in found[1]}
    assert list(weak.pass_at_draws) == ["DPH-F", "DPH-JS", "DPH-alpha", "reverse KL on D_pef"]
    for name, curve in weak.pass_at_draws.items():
        assert curve == pytest.approx(compared[name], abs=1e-12)


def test_random_tasks_depend_on_the_generator_alone():
    short = replace(CONFIG, random_tasks=5, steps=10)
    first, again, other = (on_random_tasks(short, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert first == again != other
    for row in first:
        mean, low, high = row.pass_at_1_change
        assert low < mean < high
        assert 0 <= row.rise_and_fall <= 1
