import pytest

from full_scale.laws.experiments import EXPERIMENTS, quick_runs, record_runs
from full_scale.tasks.glass_box.boxes import BOXES


def test_runs_are_distinct_and_the_first_seed_of_all_comes_first():
    runs = record_runs()
    assert len({run.id for run in runs}) == len(runs)
    assert {run.experiment for run in runs} == set(EXPERIMENTS)
    assert {run.task for run in runs} <= set(BOXES)
    assert [run.seed for run in runs] == sorted(run.seed for run in runs)


def test_one_experiment_and_the_quick_one():
    assert {run.experiment for run in record_runs("limits")} == {"limits"}
    assert [run.form for run in quick_runs()] == ["k3", "k3_corrected", "sequence_kl"]
    with pytest.raises(ValueError, match="only='limit' is not allowed: one of which_law"):
        record_runs("limit")
