from dataclasses import replace

import pytest

from full_scale.lab import kept
from full_scale.lab.glass_box.box import box
from full_scale.lab.glass_box.exact import exact
from full_scale.lab.laws import experiments, plan
from full_scale.lab.laws.experiments import WAYS, planned_lines
from full_scale.lab.laws.record import SELECTION_BARS, SampledEnd, Twin
from full_scale.lab.laws.runs import TOKEN_FORWARD, Run

TASK = box("selection-2")
BASE = exact(TASK, TASK.base, TASK.base)
RUN = Run(plan.PLANNED, "selection-2", "k3", 0.5)


BAR = SELECTION_BARS.validity / 3


@pytest.mark.parametrize(
    ("arrives", "deviation", "held", "planned"),
    [
        # The shortest training that arrives.
        (lambda run: run.steps >= 500, None, None, [(500, 1)] * 3),
        # Luck is paid for with answers, as many as its variance asks, up to a bound.
        (None, lambda run: 1.9 * BAR / run.groups**0.5, None, [(250, 4)] * 3),
        (None, lambda run: 3.1 * BAR / run.groups**0.5, None, [None] * 3),
        # Two groups are asked for, and are no quieter: four are.
        (None, lambda run: (1.2 if run.groups < 4 else 0.9) * BAR, None, [(250, 4)] * 3),
        # A plan of which one sample misses is of the first order alone.
        (None, None, lambda run: run.groups >= 2, [(250, 1), (250, 2), (250, 2)]),
        (None, None, lambda run: run.steps > 250 or run.seed != 7, [(250, 1), (500, 1), (500, 1)]),
        (None, None, lambda run: run.groups >= 4 or run.seed != 7, [(250, 1), (250, 4), (250, 4)]),
        (None, None, lambda run: run.seed != 7, [(250, 1), None, None]),
    ],
)
def test_the_shortest_run_that_holds_is_planned(monkeypatch, tmp_path, arrives, deviation, held, planned):
    def twin(run, bases, *, spreads=True):
        kl = 1.0 if arrives and not arrives(run) else 0.0
        deviations = {"validity": deviation(run) if deviation else 1e-6, "favourite_odds": 0.0}
        return Twin(run, BASE, {TOKEN_FORWARD: kl}, deviations if spreads else {}, BASE.validity)

    def ends(run, bases, seeds):
        missed = [held is not None and not held(replace(run, seed=seed)) for seed in range(seeds)]
        return tuple(SampledEnd(0.0, float(miss), 0.0) for miss in missed)

    monkeypatch.setattr(plan, "twin", twin)
    monkeypatch.setattr(plan, "sampled_ends", ends)
    found = [plan.plan(RUN, way, tmp_path) for way in WAYS]
    assert [run and (run.steps, run.groups) for run in found] == planned
    if all(found):
        assert [run.annealed_from for run in found] == [None, None, plan.BEGUN]
        assert {run.learning_rate for run in found} == {plan.RATES[0]}


def test_plans_are_kept_as_they_are_made_and_null_where_there_is_none(monkeypatch, tmp_path):
    monkeypatch.setattr(plan, "PLANS", tmp_path / "plans.jsonl")
    monkeypatch.setattr(experiments, "PLANS", tmp_path / "plans.jsonl")
    monkeypatch.setattr(kept, "run_jobs", lambda of, jobs, **options: ((job, of(job)) for job in jobs))
    made, stop = [], 3

    def planning(run, way, bases):
        if len(made) == stop:
            raise KeyboardInterrupt
        made.append((run.id, way))
        return run if way == "first_order" else None

    monkeypatch.setattr(plan, "plan", planning)
    with pytest.raises(KeyboardInterrupt):
        plan.main(tmp_path)
    stop = 100
    plan.main(tmp_path)
    asked = plan.planned_runs()
    assert made == [(run.id, way) for run in asked for way in WAYS]
    assert [(line["id"], line["sampled"]) for line in planned_lines()] == [(run.id, None) for run in asked]
    chosen = {name: getattr(asked[0], name) for name in plan.CHOSEN if name != "annealed_from"}
    assert planned_lines()[0]["first_order"] == chosen


def test_what_luck_costs_is_the_kl_of_two_independent_moves():
    twin = Twin(RUN, BASE, {}, {"validity": 0.01, "favourite_odds": 0.1})
    rate, share = BASE.validity[0], BASE.favourite_share
    wanted = 1e-4 / (2 * rate * (1 - rate)) + rate * share * (1 - share) * 0.01 / 2
    assert plan.expected_kl(twin) == pytest.approx(wanted)
