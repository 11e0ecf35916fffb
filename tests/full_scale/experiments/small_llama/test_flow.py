from dataclasses import replace

import numpy as np
import pytest
from support.untrained_runs import outcome

from dph_theory.stationary import filtered_policy, policy_divergence
from full_scale.experiments.enumerable_tasks.tasks import enumerable_task
from full_scale.experiments.small_llama.flow import LostFlow, crossing, flow, flow_of, ways_back
from full_scale.experiments.small_llama.predictions import stationary_policies
from full_scale.experiments.small_llama.runs import LlamaRun

TASK = enumerable_task("selection-2")
BASE = list(TASK.base)


@pytest.mark.parametrize(
    "run",
    [
        # A large group, whose mean leaves the reward its weight.
        LlamaRun("a", TASK.name, "k2", 0.5, group_size=10_000),
        LlamaRun("a", TASK.name, "sequence_kl", 0.5, group_size=10_000),
        LlamaRun("a", TASK.name, "alpha_dpg", alpha=1.0),
    ],
    ids=lambda run: run.form,
)
def test_flows_end_at_their_policy_or_at_the_filtered_model(run):
    (end,) = flow(run, TASK, BASE, BASE, [300.0])
    if run.stationary_policy:
        policy = stationary_policies(run, TASK, BASE)[run.stationary_policy]
        assert policy_divergence(end, policy, end=TASK.end) == pytest.approx([0], abs=1e-3)
    else:
        policy = filtered_policy(BASE, TASK.valid, end=TASK.end)
        assert policy_divergence(policy, end, end=TASK.end) == pytest.approx([0], abs=2e-2)


def test_other_tasks_and_forms_are_refused():
    with pytest.raises(ValueError, match="task='sums' is not allowed: a task of one text"):
        flow(LlamaRun("a", "sums", "none"), enumerable_task("sums"), BASE, BASE, [1.0])
    with pytest.raises(ValueError, match="form='rehearsal' is not allowed"):
        flow(LlamaRun("a", TASK.name, "rehearsal", 0.2, rehearsed="js"), TASK, BASE, BASE, [1.0])


def test_the_crossing_is_between_the_points_around_it():
    shares = np.array([1e-3, 1e-2, 1e-1])
    assert crossing(np.array([0.0, 1.0, 2.0]), shares, 10**-1.5) == pytest.approx(1.5)
    assert crossing(np.array([0.0, 1.0, 2.0]), shares, 0.5) is None
    assert crossing(np.array([3.0, 4.0]), np.array([0.2, 0.3]), 0.1) == 3


def test_runs_with_lost_answers_have_the_flows_time_beside_theirs():
    found = LostFlow("sequence_kl", 0.001, False, 0.05, 5.0, (0.0, 8.0), (0.001, 0.1))
    lost = LlamaRun(
        "way_back", enumerable_task("selection-2").name, "sequence_kl", 0.2, lost=0.001, learning_rate=0.1
    )
    other, third = replace(lost, seed=1), replace(lost, lost=0.01)
    # Other experiments have no flow; that of the third run was not worked out.
    target = LlamaRun("drift", lost.task, "rehearsal", 1.0, lost=0.03, rehearsed="js")
    outcomes = [outcome(), *(outcome(run=run) for run in (lost, other, third, target))]
    made = ways_back(outcomes, {flow_of(lost).id: found})
    # At the base already at its start, the share is above half the base's. Both seeds have one flow.
    assert made["ways_back"] == [{"digest": run.digest, "flow": 0, "half_time": 0.0} for run in (lost, other)]
    flow = {"form": "sequence_kl", "lost": 0.001, "collapsed": False, "half_time": 5.0}
    assert [course["digest"] for course in made["courses"]] == [lost.digest, other.digest]
    assert made["courses"][0]["step"] == [0, 250]
    assert made["flows"] == [flow | {"times": [0.0, 8.0], "shares": [0.001, 0.1]}]
    assert flow_of(target) is None
