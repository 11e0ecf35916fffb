import re

import pytest
from scipy.special import expit, logit
from support.tiny_styles_base import end, made_up, results_of

from dph_theory.support.record import as_json, record
from toy_lm.styles import read
from toy_lm.styles.results import findings, scores, tables, warnings


def test_only_runs_of_the_comparison_are_compared():
    other = {"end": end(0.5, 0.9, 1.0), "groups": ["long"]}
    results = results_of(made_up(A={"end": end(0.5, 0.9, 1.0)}, B=other))
    assert list(results.ends("train")) == ["base", "A"]
    assert [run.label for run in results.of_group("long")] == ["B"]


def test_pass_at_reads_by_k():
    results = results_of(made_up(A={"end": end(0.5, 0.9, 0.99)}))
    last = results.runs[0].on("held_out")
    assert [results.pass_at(last, k) for k in (1, 16, 256)] == [0.5, 0.9, 0.99]
    with pytest.raises(ValueError, match="not in tuple"):
        results.pass_at(last, 3)


def test_results_are_read_from_their_record_only():
    results = results_of(made_up(A={"end": end(0.5, 0.9, 1.0)}))
    record = {"kind": "toy.styles", "seed": 0, "config": {}, "findings": [], "versions": {}}
    assert read(record | {"results": as_json(results)}) == results
    with pytest.raises(ValueError, match="kind"):
        read(record | {"results": {}, "kind": "toy.collapse"})


def test_means_and_intervals_over_seeds():
    results = made_up(A={"end": end(0.5, 0.9, 1.0)})
    results["runs"].append(
        results["runs"][0] | {"seed": 1, "train": end(0.7, 0.9, 1.0), "held_out": end(0.7, 0.9, 1.0)}
    )
    found = scores(results_of(results), "train")["A"]
    # t with one degree of freedom is 12.706 at 95%; the standard error is 0.1, on the logit scale 0.1/0.24.
    assert found.pass_at_1.mean == pytest.approx(0.6)
    assert found.pass_at_1.high == pytest.approx(expit(logit(0.6) + 12.7062047 * 0.1 / 0.24), rel=1e-7)
    assert tuple(map(float, found.pass_at_16)) == (0.9, 0.9, 0.9)


def test_one_seed_says_nothing_of_the_spread():
    found = scores(results_of(made_up(A={"end": end(0.5, 0.9, 1.0)})), "train")["A"].pass_at_1
    assert (found.low, found.high) == (-float("inf"), float("inf"))


def test_the_base_is_summarised_beside_the_methods_and_what_is_unknown_stays_so():
    found = scores(results_of(made_up(A={"end": end(0.5, 0.9, 1.0)})), "held_out")
    assert list(found) == ["base", "A"]
    assert found["base"].pass_at_256.mean == 1.0
    assert found["A"].exploration is None
    known = scores(results_of(made_up(A={"end": end(0.5, 0.9, 1.0, exploration=0.5)})), "train")
    assert known["A"].exploration.mean == 0.5


def test_warnings_are_counted_as_before_at_once_late_and_for_nothing():
    score = end(0.5, 0.8, 1.0)
    curves = {
        "before": ([0.0, 0.2, 0.6], [0.9, 0.9, 0.8]),
        "at once": ([0.0, 0.1, 0.6], [0.9, 0.9, 0.8]),
        "late": ([0.0, 0.1, 0.6], [0.9, 0.8, 0.8]),
        "false": ([0.0, 0.1, 0.3], [0.9, 0.9, 0.9]),
        "quiet": ([0.0, 0.0, 0.0], [0.9, 0.9, 0.9]),
    }
    runs = {
        name: {"end": score, "curve": {"excess": excess, "pass_at_16": passed}}
        for name, (excess, passed) in curves.items()
    }
    early, found, _ = warnings(results_of(made_up(**runs)))
    assert (early.rise, found.rise) == (0.1, 0.25)
    assert dict(zip(runs, (lead.lead for lead in found.leads), strict=True)) == {
        "before": 0, "at once": 0, "late": -10, "false": None, "quiet": None,
    }  # fmt: skip
    assert (len(found.fallen), found.warned_before, found.false_alarms) == (3, 0, 1)
    assert (early.warned_before, early.false_alarms) == (2, 1)


def numbers(sentence):
    return [float(found) for found in re.findall(r"\b\d+\.\d+\b", sentence)]


def test_the_sentences_hold_the_numbers_of_the_results():
    fallen = {"curve": {"excess": [0.0, 0.3, 0.6], "pass_at_16": [0.9, 0.9, 0.8]}}
    train, held_out, meter = findings(
        results_of(
            made_up(
                A={"end": end(0.5, 0.8, 1.0), **fallen},
                B={"end": end(0.45, 0.95, 1.0), "held_out": end(0.1, 0.2, 1.0)},
            )
        )
    )
    assert numbers(train) == [0.4, 0.9, 0.45, 0.95, 0.5, 0.8]
    assert "0 of 2 methods" in held_out
    assert numbers(held_out) == [0.9]
    assert re.findall(r"\d+\.?\d*", meter)[-4:] == ["1", "1", "0", "1"]


def shown(**runs):
    return tables(record("toy.styles", seed=0, config={}, results=made_up(**runs), findings=()))


def test_a_table_for_each_split_and_one_for_what_was_swept():
    run = {"end": end(0.512, 0.934, 1.0)}
    assert len(shown(A=run)) == 3
    found = shown(A=run, B=run | {"groups": ["strengths"], "strength": 0.123})
    assert [len(table.rows) for table in found] == [2, 2, 1, 1]
    assert "0.512" in found[0].rows[1]
    assert "held-out prompts" in found[1].title


def test_the_lead_of_the_meter_is_told_run_by_run():
    curves = {
        "X": {"excess": [0.0, 0.2, 0.6], "pass_at_16": [0.9, 0.9, 0.8]},
        "Y": {"pass_at_16": [0.9, 0.9, 0.8]},
        "Z": {"excess": [0.0, 0.0, 0.12]},
    }
    score = end(0.5, 0.9, 1.0)
    *_, leads = shown(**{name: {"end": score, "curve": curve} for name, curve in curves.items()})
    assert leads.rows == (
        ("X", "0", "20", "+10", "+0", "+0"),
        ("Y", "0", "20", "no warning", "no warning", "no warning"),
        ("Z", "0", "-", "false alarm", "-", "-"),
    )


def test_what_is_unknown_is_a_dash_and_one_seed_has_no_interval():
    (_, row), *_ = (table.rows for table in shown(A={"end": end(0.5, 0.9, 1.0)}))
    assert row[0] == "A"
    assert "-" in row
    assert not any("(" in cell for cell in row)


def test_intervals_are_printed_over_seeds():
    results = made_up(A={"end": end(0.5, 0.9, 1.0)})
    results["runs"].append(results["runs"][0] | {"seed": 1})
    first, *_ = tables(record("toy.styles", seed=0, config={}, results=results, findings=()))
    assert "0.500 (0.500, 0.500)" in first.rows[1]
