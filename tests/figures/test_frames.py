"""Records as frames, and what is said where there are none."""

import json

import numpy as np
import pytest

from dph_theory.support.record import record
from figures.frames import NUMBERS, LlamaRuns, Records, estimates, load, means, stored_name


def put(folder, name, kind="toy.styles", **results):
    (folder / f"{name}.json").write_text(
        json.dumps(record(kind, seed=0, config={}, results=results, findings=[]))
    )


def test_what_is_missing_broken_or_another_record_is_an_error_even_where_another_folder_has_it(tmp_path):
    (tmp_path / "laws.json").write_text("{")
    put(tmp_path, "toy_styles", kind="toy.collapse")
    for records in (Records(tmp_path), Records(tmp_path, else_from=NUMBERS)):
        with pytest.raises(ValueError, match=r"laws\.json.*valid JSON"):
            records.record("laws")
        with pytest.raises(ValueError, match=r"toy\.styles"):
            records.record("styles")
    with pytest.raises(ValueError, match=r"toy_collapse\.json does not exist. Run `dph toy collapse --json"):
        Records(tmp_path).record("collapse")


def test_only_what_a_folder_lacks_comes_from_elsewhere(tmp_path):
    put(tmp_path, "toy_styles_quick", x=1)
    records = Records(tmp_path, True, NUMBERS)
    assert records.results("styles") == {"x": 1}
    assert records.record("laws") == load("laws", "laws")
    assert stored_name("styles", True) == "toy_styles_quick"
    assert stored_name("laws", True) == "laws"


def test_the_transformers_models_are_rows_by_split_with_pass_at_k_by_k():
    frame, found = Records().styles, Records().results("styles")
    assert len(frame) == 2 * (len(found["bases"]) + len(found["runs"]))
    run = frame[(frame.label == "DAPO") & (frame.split == "held_out") & frame.main].iloc[0]
    stored = next(one for one in found["runs"] if one["label"] == "DAPO")["held_out"]
    assert run[16] == stored["pass_at_k"][found["k"].index(16)]
    assert run.retention == stored["retention"]


def test_runs_that_are_not_there_are_told_the_command_that_makes_them():
    runs = {"experiment": ["a"], "judged": [1]}
    results = {"runs": runs, "courses": [], "flows": [], "ways_back": []}
    llama = LlamaRuns({"results": results, "findings": []})
    assert len(llama.runs_of("a")) == len(llama.judged) == 1
    with pytest.raises(ValueError, match=r"small-llama --only drift and .* --only limits makes them"):
        llama.runs_of("drift", "limits")


def test_means_have_intervals_over_several_seeds_and_a_group_without_values_has_none():
    mean, low, high = means([[1.0, 2.0], [3.0, 2.0]])
    assert mean == pytest.approx([2.0, 2.0])
    assert low[0] < 1 < 3 < high[0]
    assert not np.isfinite(means([[1.0]])[1]).any()
    frame = Records().styles.assign(none=np.nan)
    assert estimates(frame.groupby("split"), "none").isna().all(axis=None)
