from dataclasses import replace

import pytest

from full_scale.evaluation.exact import exact
from full_scale.laws import experiments, plan
from full_scale.laws.experiments import WAYS, planned_lines, record_runs
from full_scale.laws.record import SELECTION_BARS, SampledEnd, Twin
from full_scale.laws.runs import TOKEN_FORWARD, Run
from full_scale.storage import kept
from full_scale.tasks.glass_box.box import box

TASK = box("selection-2")
BASE = exact(TASK, TASK.base, TASK.base)
RUN = Run(plan.PLANNED, "selection-2", "k3", 0.5)


def twins(monkeypatch, *, arrives, deviation=lambda run: 1e-6, held=lambda run: True):
    """Twins that arrive after so many steps, with deviations; and samples of which each holds or not."""
    asked = []

    def end(run, kl, deviations):
        return Twin(run, BASE, {TOKEN_FORWARD: kl}, deviations, BASE.validity)

    def twin(run, bases, *, spreads=True):
        asked.append((run.steps, run.learning_rate, run.groups, spreads))
        kl = 0.0 if run.steps >= arrives else 1.0
        deviations = {"validity": deviation(run), "favourite_odds": 0.0}
        return end(run, kl, deviations if spreads else {})

    monkeypatch.setattr(plan, "twin", twin)

    def ends(run, bases, seeds):
        runs = (replace(run, seed=seed) for seed in range(seeds))
        return tuple(SampledEnd(0.0, 0.0 if held(seeded) else 1.0, 0.0) for seeded in runs)

    monkeypatch.setattr(plan, "sampled_ends", ends)
    return asked


def planned(folder):
    return [plan.plan(RUN, way, folder) for way in WAYS]


def test_the_shortest_training_that_arrives_is_planned(monkeypatch, tmp_path):
    asked = twins(monkeypatch, arrives=500)
    first, sampled, annealed = planned(tmp_path)
    assert (first.steps, first.learning_rate, first.groups) == (500, plan.RATES[0], 1)
    assert sampled == first == replace(annealed, annealed_from=None)
    assert annealed.annealed_from == plan.BEGUN
    # Of trainings that do not arrive no noise is asked.
    assert not any(spreads for steps, _, _, spreads in asked if steps < 500)


def test_luck_is_paid_for_with_answers(monkeypatch, tmp_path):
    bar = SELECTION_BARS.validity / 3
    twins(monkeypatch, arrives=0, deviation=lambda run: 1.9 * bar / run.groups**0.5)
    assert planned(tmp_path)[0].groups == 4
    twins(monkeypatch, arrives=0, deviation=lambda run: 3.1 * bar / run.groups**0.5)
    assert planned(tmp_path) == [None] * 3


def test_groups_are_doubled_until_the_twin_is_quiet(monkeypatch, tmp_path):
    bar = SELECTION_BARS.validity / 3
    # Two groups are asked for, and are no quieter: four are.
    twins(monkeypatch, arrives=0, deviation=lambda run: (1.2 if run.groups < 4 else 0.9) * bar)
    assert planned(tmp_path)[0].groups == 4
    twins(monkeypatch, arrives=0, held=lambda run: run.groups >= 2)
    assert [found.groups for found in planned(tmp_path)] == [1, 2, 2]


def test_a_plan_of_which_one_sample_misses_is_of_the_first_order_alone(monkeypatch, tmp_path):
    twins(monkeypatch, arrives=0, held=lambda run: run.steps > 250 or run.seed != 7)
    first, sampled, _ = planned(tmp_path)
    assert (first.steps, sampled.steps) == (250, 500)
    twins(monkeypatch, arrives=0, held=lambda run: run.groups >= 4 or run.seed != 7)
    first, sampled, _ = planned(tmp_path)
    assert (first.groups, sampled.groups, sampled.steps) == (1, 4, 250)
    twins(monkeypatch, arrives=0, held=lambda run: run.seed != 7)
    first, sampled, _ = planned(tmp_path)
    assert (first.steps, sampled) == (250, None)


def test_the_planned_runs_are_those_that_have_a_plan():
    lines, asked = planned_lines(), plan.planned_runs()
    assert [line["id"] for line in lines] == [run.id for run in asked]
    wanted = {
        replace(run, **line[way]).id
        for run, line in zip(asked, lines, strict=True)
        for way in WAYS
        if line[way] is not None
    }
    found = [run.id for run in record_runs(plan.PLANNED, seeds=1)]
    assert set(found) == wanted
    assert len(found) == len(wanted) > 10


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
