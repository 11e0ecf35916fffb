import pytest

from dph_theory.divergences import FORWARD_KL, JENSEN_SHANNON, alpha_divergence
from figures.frames import load
from full_scale.experiments.enumerable_tasks.tasks import TASKS
from full_scale.experiments.small_llama.experiments import experiments, quick_runs, record_runs
from full_scale.experiments.small_llama.runs import LlamaRun
from full_scale.experiments.small_llama.study import STUDY


def test_an_id_is_the_content_whatever_the_process():
    run = LlamaRun("which_policy", "selection-2", "k3", 0.2, learning_rate=2e-3)
    assert run.id == LlamaRun(**run.changed).id == "which_policy-selection-2-k3-f9cc5de2a5"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"form": "k4"}, "form='k4' is not allowed: one of none, k2, k3"),
        ({"form": "k3"}, "beta=0.0 is not allowed: above 0 for k3"),
        ({"form": "none", "rehearsed": "js"}, "rehearsed='js'"),
        ({"form": "k3", "beta": 0.2, "baseline": "one", "scale": "group"}, "baseline='one' is not allowed"),
        ({"form": "alpha_dpg", "alpha": 0.5, "baseline": "none"}, "baseline='none' is not allowed"),
        (
            {"form": "k2", "beta": 0.2, "beta_from": 1.0},
            "beta_from=1.0 is not allowed: at least beta, for k3, k3_corrected, sequence_kl alone",
        ),
        ({"form": "sequence_kl", "beta": 0.2, "beta_from": 0.1}, "beta_from=0.1"),
    ],
)
def test_what_cannot_be_trained_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        LlamaRun("which_policy", "selection-2", **fields)


def test_the_stored_runs_are_those_that_are_declared_under_the_same_ids_and_in_their_order():
    runs, stored = record_runs(), load("laws", "laws")["results"]["runs"]
    assert [run.digest for run in runs] == stored["digest"]
    assert [run.experiment for run in runs] == stored["experiment"]
    assert {run.experiment for run in runs} == set(experiments())
    assert {run.task for run in runs} <= set(TASKS)


def test_one_experiment_and_the_quick_one():
    assert {run.experiment for run in STUDY.runs("limits")} == {"limits"}
    assert [run.seed for run in STUDY.runs("limits")] == [0] * 6 + [1] * 6 + [2] * 6
    assert [run.form for run in quick_runs()] == ["k3", "k3_corrected", "sequence_kl", "none"]
    with pytest.raises(ValueError, match="only='limit' is not allowed: one of which_policy"):
        STUDY.runs("limit")


def test_methods_are_compared_at_equal_strength():
    curvatures = {"log_u": FORWARD_KL, "js": JENSEN_SHANNON, "alpha": alpha_divergence(0.2)}
    rehearsed = [run for run in STUDY.runs("direction", seeds=1) if run.form == "rehearsal"]
    strengths = [round(run.beta * curvatures[run.rehearsed].curvature, 6) for run in rehearsed]
    assert strengths == [0.05] * 3 + [0.3] * 3
    assert len({(run.scale, run.group_size, run.dapo, run.steps) for run in rehearsed}) == 1
