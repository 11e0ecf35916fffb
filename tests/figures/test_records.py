import json
from dataclasses import dataclass

import numpy as np
import pytest
from support.law_record import law_record, run
from support.small_report import FORM, read, verdict

from dph_theory.support.record import as_json, from_json, record
from figures.records import (
    FULL_SCALE,
    LAWS,
    Array,
    Demo,
    Laws,
    Records,
    load,
    read_audit,
    save,
    with_full_scale,
)


@dataclass(frozen=True)
class Curve:
    y: Array


def test_arrays_are_stored_as_lists_and_read_again():
    stored = as_json(Curve(np.array([[1 / 3, np.inf]])), 3)
    assert stored == {"y": [[0.333, np.inf]]}
    assert from_json(Curve, {"y": [["inf", 0.333, None]]}).y[0, :2].tolist() == [np.inf, 0.333]
    assert np.isnan(from_json(Curve, {"y": None}).y)


def numbers(value):
    return record("figure.line", seed=0, config={}, results={"y": value}, findings=[])


def test_what_was_saved_is_loaded(tmp_path):
    path = save("line", numbers([1.5, float("inf")]), tmp_path / "new")
    assert path == tmp_path / "new" / "line.json"
    assert load("line", "figure.line", tmp_path / "new")["results"] == {"y": [1.5, "inf"]}


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"numbers=.*line\.json.*--recompute makes them"):
        load("line", "figure.line", tmp_path)


def test_broken_and_foreign_files_are_refused(tmp_path):
    save("line", numbers(1), tmp_path)
    with pytest.raises(ValueError, match=r"figure\.circle"):
        load("line", "figure.circle", tmp_path)
    (tmp_path / "line.json").write_text('{"kind": ')
    with pytest.raises(ValueError, match=r"valid JSON .*--recompute makes it anew"):
        load("line", "figure.line", tmp_path)
    (tmp_path / "line.json").write_text(json.dumps([1, 2]))
    with pytest.raises(ValueError, match="needs the keys"):
        load("line", "figure.line", tmp_path)


def test_numbers_that_cannot_be_written_leave_the_old_ones(tmp_path):
    save("line", numbers(1), tmp_path)
    with pytest.raises(TypeError):
        save("line", numbers(object()), tmp_path)
    assert load("line", "figure.line", tmp_path)["results"] == {"y": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["line.json"]


def test_a_record_that_lacks_a_part_names_it():
    found = record("full_scale.demo", seed=0, config={}, results={"set": "all"}, findings=[])
    with pytest.raises(ValueError, match=r"Demo\.prompts"):
        Demo.read(found)


def test_runs_are_chosen_by_experiment_and_fields():
    found = Laws.read(law_record([run("k3"), run("k2"), run("k3", experiment="limits", beta=0.02)]))
    assert len(found.of()) == 3
    assert [row.beta for row in found.of("which_law", "limits", form="k3")] == [0.2, 0.02]
    assert found.of(form="k3")[0].kl == {law: 0.001 if law == "token forward KL" else 0.3 for law in LAWS}


def test_runs_are_held_to_a_law_by_every_bar_if_they_are_meant_to_reach_one():
    runs = [run("k3", judged=False), run("k2", full_verdict="missed: KL")]
    (judged,) = Laws.read(law_record(runs)).judged()
    assert (judged.form, judged.verdict, judged.held) == ("k2", "held", False)


def test_a_record_without_such_runs_names_the_command_that_makes_them():
    with pytest.raises(ValueError, match=r"no run of limits, beta=0.1.*dph laws --only limits makes them"):
        Laws.read(law_record([run("k3")])).of("limits", beta=0.1)


def read_one(report):
    (found,) = read(report).values()
    return found


def test_a_report_is_as_expected_if_its_verdict_is_all_neighbours_fell_and_it_is_tight_where_it_should():
    report = verdict("C2.old")
    fallen = {"false_neighbours": [false | {"refuted_by": "balls"} for false in report["false_neighbours"]]}
    standing = {"false_neighbours": [report["false_neighbours"][0] | {"refuted_by": ""}]}
    assert read_one(report | fallen).as_expected
    assert not read_one(report | standing).as_expected
    assert not read_one(report | fallen | {"verdict": "HOLDS"}).as_expected
    assert not read_one(report | fallen | {"tight": 0.9}).as_expected
    assert not read_one(report | fallen | {"wrong_values": ["example 1: lhs = 1, not 2"]}).as_expected


def test_the_worst_gap_is_the_largest_of_all_checks():
    report = verdict("C2.old")
    checks = [report["checks"][0] | {"worst_violation": gap} for gap in (None, -0.5, "inf", 2.0)]
    assert read_one(report | {"checks": checks}).worst == float("inf")
    assert read_one(report | {"checks": checks[:2]}).worst == -0.5
    assert read_one(report | {"checks": checks[:1]}).worst is None


def test_the_audit_is_read_form_by_form():
    (line,) = read_audit({"results": {"forms": [FORM]}})
    assert (line.form, line.gradient) == ("k9", "zero")


def test_every_record_is_read_as_its_own_classes():
    found = Records.load(["collapse", "strategies", "styles", *FULL_SCALE])
    assert "laws" in found
    assert "verdicts" not in found
    assert found.collapse.reference.length == 8
    assert found.strategies[0].coverage_draws in found.strategies[1].draws
    assert len(found.styles.bases) == 3
    assert sum(gap.expected != 0 for gap in found.demo.differences) == 10
    assert found.laws.runs


def test_a_missing_record_is_named():
    with pytest.raises(ValueError, match="record='styles' is not allowed: one of demo"):
        Records.load(["demo"]).styles  # noqa: B018


def test_runs_of_full_scale_are_copied_to_a_folder_and_read_there(tmp_path):
    with pytest.raises(ValueError, match=r"full_scale_demo\.json' is not allowed"):
        Records.load(["demo"], quick=True, folder=tmp_path)
    with_full_scale(["demo", "styles"], tmp_path)
    assert Records.load(["demo"], quick=True, folder=tmp_path).of("demo")["kind"] == "full_scale.demo"
    assert [path.name for path in tmp_path.iterdir()] == ["full_scale_demo.json"]
