import pytest
from support.law_record import law_record, run

from figures.results.laws import runs


def test_runs_are_chosen_by_experiment_and_fields():
    found = law_record([run("k3"), run("k2"), run("k3", experiment="limits", beta=0.02)])
    assert len(runs(found)) == 3
    assert [row["beta"] for row in runs(found, "which_law", "limits", form="k3")] == [0.2, 0.02]


def test_a_record_without_such_runs_names_the_command_that_makes_them():
    with pytest.raises(ValueError, match=r"no run of limits, beta=0.1.*dph laws --only limits makes them"):
        runs(law_record([run("k3")]), "limits", beta=0.1)
