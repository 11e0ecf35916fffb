import re

import pytest
from scipy.special import expit, logit
from support.tiny_styles_base import end, made_up

from dph_theory.support.record import record
from toy_lm.styles import tables
from toy_lm.styles.results import findings, scores, warnings

GOOD = {"end": end(0.5, 0.9, 1.0)}


def seeds(*ends):
    """Results of one method, an end a seed."""
    results = made_up(A=GOOD)
    (run,) = results["runs"]
    results["runs"] = [run | {"seed": i, "train": e, "held_out": e} for i, e in enumerate(ends)]
    return results


def test_only_runs_of_the_comparison_are_compared_beside_the_base():
    found = scores(made_up(A=GOOD, B=GOOD | {"groups": ["long"]}), "held_out")
    assert list(found) == ["base", "A"]
    assert (found["base"]["pass_at_256"].mean, found["A"]["pass_at_1"].mean) == (1.0, 0.5)


def test_means_and_intervals_over_seeds():
    found = scores(seeds(end(0.5, 0.9, 1.0), end(0.7, 0.9, 1.0)), "train")["A"]
    # t with one degree of freedom is 12.706 at 95%; the standard error is 0.1, on the logit scale 0.1/0.24.
    assert found["pass_at_1"].mean == pytest.approx(0.6)
    assert found["pass_at_1"].high == pytest.approx(expit(logit(0.6) + 12.7062047 * 0.1 / 0.24), rel=1e-7)
    assert tuple(map(float, found["pass_at_16"])) == (0.9, 0.9, 0.9)
    alone = scores(made_up(A=GOOD), "train")["A"]["pass_at_1"]
    assert (alone.low, alone.high) == (-float("inf"), float("inf"))


def test_what_no_seed_has_is_left_out_and_the_others_count():
    assert "exploration" not in scores(made_up(A=GOOD), "train")["A"]
    found = scores(seeds(end(0.5, 0.9, 1.0), end(0.5, 0.9, 1.0, exploration=0.5)), "train")["A"]
    assert found["exploration"].mean == 0.5


CURVES = {
    "before": ([0.0, 0.2, 0.6], [0.9, 0.9, 0.8]),
    "at once": ([0.0, 0.1, 0.6], [0.9, 0.9, 0.8]),
    "late": ([0.0, 0.1, 0.6], [0.9, 0.8, 0.8]),
    "none": ([0.0, 0.0, 0.0], [0.9, 0.9, 0.8]),
    "false": ([0.0, 0.1, 0.3], [0.9, 0.9, 0.9]),
    "quiet": ([0.0, 0.0, 0.0], [0.9, 0.9, 0.9]),
}


def along(excess, passed):
    return GOOD | {"curve": {"excess": excess, "pass_at_16": passed}}


def shown(results):
    return tables(record("toy.styles", seed=0, config={}, results=results, findings=()))


def test_warnings_are_counted_and_told_as_before_at_once_late_missing_and_for_nothing():
    results = made_up(**{name: along(*curve) for name, curve in CURVES.items()})
    early, found, _ = warnings(results)
    assert (early.rise, found.rise) == (0.1, 0.25)
    assert [lead.lead for lead in found.leads] == [0, 0, -10, None, None, None]
    assert (len(found.fallen), found.warned_before, found.false_alarms) == (4, 0, 1)
    assert (early.warned_before, early.false_alarms) == (2, 1)
    *_, leads = shown(results)
    assert leads.rows == (
        ("before", "0", "20", "+10", "+0", "+0"),
        ("at once", "0", "20", "+10", "+0", "+0"),
        ("late", "0", "10", "+0", "-10", "-10"),
        ("none", "0", "20", "no warning", "no warning", "no warning"),
        ("false", "0", "-", "false alarm", "false alarm", "-"),
        ("quiet", "0", "-", "-", "-", "-"),
    )


def numbers(sentence):
    return [float(found) for found in re.findall(r"\b\d+\.\d+\b", sentence)]


def test_the_sentences_hold_the_numbers_of_the_results():
    fallen = along([0.0, 0.3, 0.6], [0.9, 0.9, 0.8]) | {"end": end(0.5, 0.8, 1.0)}
    other = {"end": end(0.45, 0.95, 1.0), "held_out": end(0.1, 0.2, 1.0)}
    train, held_out, meter = findings(made_up(A=fallen, B=other))
    assert numbers(train) == [0.4, 0.9, 0.45, 0.95, 0.5, 0.8]
    assert "0 of 2 methods" in held_out
    assert numbers(held_out) == [0.9]
    assert re.findall(r"\d+\.?\d*", meter)[-4:] == ["1", "1", "0", "1"]


def test_a_table_for_each_split_and_one_for_what_was_swept():
    run = {"end": end(0.512, 0.934, 1.0)}
    assert len(shown(made_up(A=run))) == 3
    found = shown(made_up(A=run, B=run | {"groups": ["strengths"], "strength": 0.123}))
    assert [len(table.rows) for table in found] == [2, 2, 1, 1]
    first = found[0].rows[1]
    assert first[:2] == ("A", "0.512")
    assert "-" in first
    assert not any("(" in cell for cell in first)
    assert "held-out prompts" in found[1].title
    assert found[3].rows[0][:5] == ("B", "explored", "20", "0.512", "0.934")
    assert "0.500 (0.500, 0.500)" in shown(seeds(GOOD["end"], GOOD["end"]))[0].rows[1]
