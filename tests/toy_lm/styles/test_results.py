import pytest
from support.tiny_styles_base import end, made_up, results_of

from dph_theory.support.frozen import as_json
from toy_lm.styles import read


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
