import pytest
from support.law_record import law_record, run

from figures.results.laws import LAWS, Laws


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
