import re
from dataclasses import asdict, replace

import numpy as np
import pytest
from support.small_strategies_run import SMALL, small_record

from toy_lm.strategies import tables
from toy_lm.strategies.results import Config, directions, findings, meter


def test_the_default_task_is_weighted_by_its_prompts():
    config = Config()
    np.testing.assert_allclose(config.task.weights, [0.30, 0.20, 0.14, 0.14, 0.12, 0.10], rtol=1e-15)
    assert config.optimiser == (0.5, 2000, 8)
    assert [d.curvature for d in config.divergences.values()] == [1, 0.5, 1, 1]


def test_the_quick_run_keeps_the_task_and_the_reference_point():
    full, quick = asdict(Config()), asdict(Config.quick())
    same = ("prompts", "base", "easy_rate", "hard_rate", "group", "learning_rate", "conditioning", "strength")
    assert all(full[name] == quick[name] for name in same)
    thinner = ("conditionings", "strengths", "alphas", "targets")
    assert all(set(quick[name]) < set(full[name]) for name in thinner)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"prompts": (15, 10, 0, 7, 6, 5)}, "prompts=0"),
        ({"prompts": (15, 10)}, "weights.shape"),
        ({"base": (0.5, 0.5, 0.5, 0.1, 0.1)}, "base sums to"),
        ({"easy_rate": 1.0}, "easy_rate=1"),
        ({"hard_rate": 0.0}, "hard_rate=0"),
        ({"group": 1}, "group=1 "),
        ({"learning_rate": -0.5}, "learning_rate=-0.5"),
        ({"steps": 0}, "steps=0"),
        ({"conditioning": 0.2}, r"conditioning=0.2.*one of the sweep's values \(0.0, 0.03"),
        ({"conditioning": -1.0}, "conditioning=-1"),
        ({"strength": 0.3}, "strength=0.3.*one of the sweep's values"),
        ({"alpha": 0.4}, "alpha=0.4.*one of the sweep's values"),
        ({"alpha": 1.0}, "alpha=1.0"),
        ({"alphas": (0.5, 1.0)}, "alphas=1"),
        ({"conditionings": ()}, "conditionings=.*at least 1 item"),
        ({"strengths": (0.0, 1.0)}, "strengths=0"),
        ({"strengths": (1.0, 20.0)}, "strengths=20.0.*below 12"),
        ({"targets": (1.2,)}, "targets=1.2"),
        ({"draws": ()}, "draws=.*at least 1 item"),
        ({"draws": (0,)}, "draws=0"),
        ({"coverage_draws": 0}, "coverage_draws=0"),
        ({"rises": (0.0,)}, "rises=0"),
        ({"fall": 1.0}, "fall=1"),
        ({"random_tasks": 1}, "random_tasks=1"),
    ],
)
def test_every_field_says_what_it_allows(changed, message):
    with pytest.raises(ValueError, match=message):
        replace(Config(), **changed)


CONFIG = replace(
    Config(), conditionings=(0.1, 1.0), strengths=(0.5, 1.0), alphas=(0.5, 0.9), rises=(0.1, 0.2)
)
NEVER = ((None, None), (None, None))


def block(divergence, place, first, conditioning=(0.1, 1.0), coverage=NEVER, warned=(NEVER, NEVER)):
    count = len(conditioning)
    named = {} if divergence is None else {"divergence": divergence, "place": place}
    return named | {
        "conditioning": conditioning,
        "strength": (0.5, 1.0),
        "pass_at_1": ((first / 2, first / 2), (0.0, 0.0))[:count],
        "pass_at_k": ((first, first + 0.1), (0.0, 0.0))[:count],
        "coverage_step": coverage[:count],
        "meter_step": [steps[:count] for steps in warned],
    }


BLOCKS = [
    block(None, None, 0.1),
    *(
        entry
        for place, shift in (("D_pef", 0.0), ("all prompts", 0.05))
        for entry in (
            block("forward_kl", place, 0.8 + shift),
            block("jensen_shannon", place, 0.7 + shift),
            block("alpha_0.5", place, 0.6 + shift),
            block("reverse_kl", place, 0.3 + 2 * shift),
            block("alpha_0.9", place, 0.75 + shift, conditioning=(0.1,)),
        )
    ),
]


def test_directions_are_compared_at_the_configured_conditioning():
    rows = directions(CONFIG, BLOCKS)
    places = [(place, strength) for place in ("D_pef", "all prompts") for strength in (0.5, 1.0)]
    assert list(rows.index) == places
    told = {"forward KL": 0.8, "JS": 0.7, "alpha": 0.6, "reverse KL": 0.3}
    assert rows["pass_at_k"].loc[places[0]].to_dict() == told
    assert rows.gap[places[0]] == 0.5
    assert abs(rows.gap[places[2]] - 0.45) < 1e-12


def test_the_meter_counts_warnings_leads_and_false_alarms():
    falls = ((100, 60), (None, None))
    early, late = ((80, 10), (5, None)), ((None, 70), (None, None))
    rows = meter(CONFIG, [block("forward_kl", "D_pef", 0.5, coverage=falls, warned=(early, late))])
    found = [(row.rise, len(row.leads), len(row.fallen), row.warned_before, row.false_alarms) for row in rows]
    assert found == [(0.1, 4, 2, 2, 1), (0.2, 4, 2, 0, 0)]
    assert [row.steps_ahead for row in rows] == [[20, 50], [-10]]


def numbers(sentence):
    return [float(found) for found in re.findall(r"[-+]?\b\d+\.\d+\b", sentence)]


def test_the_sentences_hold_the_numbers_of_the_results():
    record = small_record()
    results = record["results"]
    methods, direction, random = findings(SMALL, results)
    assert record["findings"] == [methods, direction, random]
    named = {row["name"]: row for row in results["methods"]}
    scores = (results["base"], named["GRPO"], named["DPH-F"])
    assert numbers(methods) == [round(x[name], 3) for x in scores for name in ("pass_at_1", "pass_at_k")]
    assert numbers(direction)[0] in [row for block in results["sweep"] for row in block["strength"]]
    assert numbers(random)[0] == round(results["random_tasks"][0]["pass_at_k_change"][0], 3)
    results["base"]["pass_at_1"] = 0.125
    assert numbers(findings(SMALL, results)[0])[0] == 0.125


def test_the_tables_show_the_record_s_numbers():
    record = small_record()
    # Where coverage never fell there is no lead.
    for block in record["results"]["sweep"]:
        block["coverage_step"] = [[None for _ in row] for row in block["coverage_step"]]
    shown = tables(record)
    assert [len(table.rows) for table in shown] == [10, 2, 6, 1, 4, 3]
    methods, *_, targets, meter, _ = shown
    assert f"{record['results']['base']['pass_at_k']:.3f}" in methods.rows[0]
    assert meter.rows[0][2:5] == ("0 of 0", "-", "-")
    assert targets.rows[0][1] == f"{record['results']['targets']['beta'][0]:.4f}"
