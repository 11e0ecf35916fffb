import numpy as np
import pytest
from support.sampled_counts import base_rates, rows_of, sampled, write_rows

from dph_theory.checkpoints import compare_runs, matched, read_counts
from dph_theory.checkpoints.pass_at_k import pass_curves
from dph_theory.checkpoints.several_runs import over_seeds
from dph_theory.intervals import bounded_mean, mean_interval


@pytest.fixture
def files(tmp_path):
    """A base and three runs: as the base; one that loses half; one of fewer answers that lacks a prompt."""
    rng = np.random.default_rng(0)
    before = base_rates(rng, 80)
    found = {}
    for name, after in (("same", before), ("loses", np.where(np.arange(80) < 40, 0.0, before))):
        pairs = sampled(rng, before, after, 16)
        found["base"] = pairs.base_n, pairs.base_c
        found[name] = pairs.run_n, pairs.run_c
    made = {name: rows_of(*counts) for name, counts in found.items()}
    made["fewer"] = [row | {"n": 12, "c": row["c"] // 2} for row in made["same"][:-1]]
    return {name: read_counts(write_rows(tmp_path / name, rows)) for name, rows in made.items()}


def test_the_run_that_loses_is_named_and_the_band_is_wider_than_alone(files):
    found = compare_runs(files["base"], [(name, None, files[name]) for name in ("same", "loses")])
    same, loses = found.runs
    assert found.k == (1, 2, 4, 8, 16)
    assert all(change.low <= 0 <= change.high for change in same.change)
    assert loses.change[-1].high < 0
    assert loses.lost > same.lost
    assert "at k = 16 better: none, worse: loses" in found.summary()
    assert [row[0] for row in found.tables()[0].rows] == ["same", "loses"]
    # Alone it has the band of its own comparison.
    alone = compare_runs(files["base"], [("loses", None, files["loses"])])
    curves = pass_curves(matched(files["base"], files["loses"]).counts, found.k)
    change = alone.runs[0].change
    assert [each.value for each in change] == pytest.approx(curves.difference)
    assert [each.low for each in change] == pytest.approx(curves.low, abs=0.02)
    assert change[-1].high < loses.change[-1].high
    pytest.importorskip("pandas")
    frame = alone.to_dataframe()
    assert list(frame.columns) == ["run", "step", "k", "change", "change low", "change high"]
    assert frame["k"].tolist() == [1, 2, 4, 8, 16]


def test_all_are_held_on_the_prompts_and_the_answers_that_all_have(files):
    runs = [("fewer", 10, files["fewer"]), ("loses", 20, files["loses"])]
    with pytest.raises(ValueError, match="lacks 1 of the prompts"):
        compare_runs(files["base"], runs)
    found = compare_runs(files["base"], runs, allow_missing=True)
    assert (found.prompts, found.k) == (79, (1, 2, 4, 8, 12))
    assert found.tables()[0].head[:2] == ("run", "step")
    assert "worse: loses at 1 of 1 steps, first at 20" in found.summary()
    with pytest.raises(ValueError, match="at most 12: the fewest answers"):
        compare_runs(files["base"], runs, allow_missing=True, ks=[13])


def test_seeds_have_a_mean_over_prompts_and_seeds(files):
    runs = [(name, None, files[name]) for name in ("same", "loses")]
    found = compare_runs(files["base"], runs, seeds=True)
    ends = [run.change[-1].value for run in found.runs]
    assert found.mean[-1].value == pytest.approx(np.mean(ends))
    assert found.tables()[0].rows[-1][0] == "mean of 2 seeds"
    for wrong in (runs[:1], [(name, 10, run) for name, _, run in runs]):
        with pytest.raises(ValueError, match=r"seeds=. is not allowed: two runs or more, without steps"):
            compare_runs(files["base"], wrong, seeds=True)


def test_the_mean_of_seeds_adds_the_sides_over_prompts_and_over_seeds():
    rng, again = np.random.default_rng(0), np.random.default_rng(1)
    gap = 0.2 * rng.choice([-1, 1], 60) + 0.1 * rng.standard_normal((3, 1)) - 0.1
    found = over_seeds(gap, np.random.default_rng(1))
    alone, seeds = bounded_mean(gap.mean(axis=0), again), mean_interval(gap.mean(axis=1))
    expected = np.hypot(alone.value - alone.low, seeds.value - seeds.low)
    assert found.value - found.low == pytest.approx(expected)


def test_runs_cannot_differ_on_questions_of_one_true_answer(tmp_path):
    rows = [{"id": i, "correct": [1, 1, i % 2], "answer": ["4", "4", "54"[i % 2]]} for i in range(20)]
    read = read_counts(write_rows(tmp_path / "x.jsonl", rows))
    assert compare_runs(read, [(name, None, read) for name in "abc"]).agreed is None
