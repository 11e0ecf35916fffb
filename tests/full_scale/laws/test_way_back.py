from dataclasses import replace

import numpy as np
import pytest
from support.law_outcomes import outcome

from full_scale.laws import way_back
from full_scale.laws.run import Run
from full_scale.laws.way_back import Flow, crossing, ways_back
from full_scale.tasks.glass_box.boxes import box


def test_the_crossing_is_between_the_points_around_it():
    shares = np.array([1e-3, 1e-2, 1e-1])
    assert crossing(np.array([0.0, 1.0, 2.0]), shares, 10**-1.5) == pytest.approx(1.5)
    assert crossing(np.array([0.0, 1.0, 2.0]), shares, 0.5) is None
    assert crossing(np.array([3.0, 4.0]), np.array([0.2, 0.3]), 0.1) == 3


def test_runs_with_lost_answers_have_the_flows_time_beside_theirs(monkeypatch, tmp_path):
    found = Flow("sequence_kl", 0.001, False, 5.0, (0.0, 8.0), (0.001, 0.1))
    monkeypatch.setattr(way_back, "_flow", lambda run, bases: found)
    monkeypatch.setattr(way_back, "_half_of_base", lambda task, bases: 0.05)
    lost = Run("way_back", box("selection-2").name, "sequence_kl", 0.2, lost=0.001, learning_rate=0.1)
    other = replace(lost, seed=1)
    # No flow describes k3 on stored answers, nor is it asked for.
    target = Run("targets", lost.task, "rehearsal", 1.0, lost=0.03, rehearsed="k3", reward=False)
    made = ways_back([outcome(), *(outcome(run=run) for run in (lost, other, target))], tmp_path)
    # At the base already at its start, the share is above half the base's. Both seeds have one flow.
    assert made["ways_back"] == [{"digest": run.digest, "flow": 0, "half_time": 0.0} for run in (lost, other)]
    flow = {"form": "sequence_kl", "lost": 0.001, "collapsed": False, "half_time": 5.0}
    assert made["flows"] == [flow | {"times": [0.0, 8.0], "shares": [0.001, 0.1]}]
