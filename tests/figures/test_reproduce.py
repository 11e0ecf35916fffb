import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest

from dph_theory.support.record import record
from figures import reproduce as module
from figures.catalogue import NAMES
from figures.frames import Records
from figures.reproduce import Plan, Stage, StageEnd, attempt, reproduce, stages


def leave(name, plan, progress):
    """A stage that leaves a file, and counts how often it ran."""
    path = plan.results / f"{name}.json"
    ran = plan.folder / f"{name}.ran"
    ran.write_text(ran.read_text() + "x" if ran.is_file() else "x")
    path.write_text("{}")
    progress(1, 1)
    return f"left {name}"


def leave_unless_told(name, plan, progress):
    """A stage that fails as long as a file says so."""
    if (plan.folder / "fail").is_file():
        raise RuntimeError("no luck")
    return leave(name, plan, progress)


def die(plan, progress):
    os.kill(os.getpid(), signal.SIGKILL)


def stage(name, make=leave, **options):
    return Stage(name, partial(make, name), (f"{name}.json",), **options)


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_page", lambda plan, found: f"page of {len(found)}")
    return Plan(folder=tmp_path)


def ran(plan, name):
    return len((plan.folder / f"{name}.ran").read_text())


def states(outcomes):
    return {outcome.stage: outcome.state for outcome in outcomes}


def test_every_stage_is_there_and_follows_what_it_needs():
    found = [stage.name for stage in stages()]
    toys = [f"toy.{name}" for name in ("collapse", "strategies", "styles")]
    assert sorted(found) == sorted(["verify", "audit", "laws", *toys, *(f"figure.{name}" for name in NAMES)])
    for one in stages():
        assert all(found.index(name) < found.index(one.name) for name in one.needs)
    assert {one.name for one in stages() if one.alone} == {"verify", "audit", "laws", "toy.styles"}


def test_stages_run_alone_and_side_by_side_and_the_page_is_made(plan):
    outcomes = reproduce(plan, [stage("a", alone=True), stage("b"), stage("c")])
    assert states(outcomes) == {"a": "done", "b": "done", "c": "done"}
    assert [outcome.words for outcome in outcomes] == ["left a", "left b", "left c"]
    assert (plan.folder / "index.html").read_text() == "page of 3"


def test_a_run_that_is_done_begins_anew(plan):
    for _ in range(2):
        reproduce(plan, [stage("a", alone=True)])
    assert ran(plan, "a") == 2


def test_a_failure_is_named_the_others_go_on_and_are_reused(plan):
    (plan.folder / "fail").touch()
    todo = [
        stage("a", alone=True),
        stage("b", leave_unless_told, alone=True),
        stage("c", alone=True, needs=("b",)),
        stage("d", alone=True),
    ]
    outcomes = reproduce(plan, todo)
    assert states(outcomes) == {"a": "done", "b": "failed", "c": "failed", "d": "done"}
    assert outcomes[1].words == "RuntimeError: no luck"
    assert "leave_unless_told" in outcomes[1].trace
    assert outcomes[2].words == "it needs b, which failed"
    (plan.folder / "fail").unlink()
    outcomes = reproduce(plan, todo)
    assert states(outcomes) == {"a": "reused", "b": "done", "c": "done", "d": "reused"}
    assert ran(plan, "a") == 1


def test_nothing_is_reused_under_other_conditions_or_from_scratch(plan):
    (plan.folder / "fail").touch()
    todo = [stage("a", alone=True), stage("b", leave_unless_told, alone=True)]
    reproduce(plan, todo)
    assert states(reproduce(Plan(1, False, plan.folder), todo))["a"] == "done"
    assert states(reproduce(Plan(1, True, plan.folder), todo))["a"] == "done"
    assert states(reproduce(Plan(1, True, plan.folder), todo))["a"] == "reused"
    assert states(reproduce(Plan(1, True, plan.folder), todo, fresh=True))["a"] == "done"
    assert ran(plan, "a") == 4


def test_a_surprise_is_a_failure_that_leaves_its_result(plan):
    def surprised(plan, progress):
        (plan.results / "a.json").write_text("{}")
        raise module.UnexpectedError("one too many")

    outcome = reproduce(plan, [Stage("a", surprised, ("a.json",), alone=True)])[0]
    assert (outcome.state, outcome.words, outcome.trace) == ("failed", "one too many", "")
    assert (plan.results / "a.json").is_file()


def test_what_an_earlier_run_left_does_not_pass_for_this_ones(plan):
    plan.results.mkdir()
    (plan.results / "b.json").write_text("{}")
    (plan.folder / "fail").touch()
    assert attempt(stage("b", leave_unless_told), plan).failed
    assert not (plan.results / "b.json").exists()


@pytest.mark.usefixtures("worker_processes")
def test_a_worker_that_dies_fails_its_stage(plan):
    outcome = reproduce(plan, [Stage("a", die, ())])[0]
    assert outcome.failed
    assert "BrokenProcessPool" in outcome.words


def test_every_stage_is_told_as_it_begins_moves_and_ends(plan):
    seen = []
    reproduce(
        plan,
        [stage("a", alone=True)],
        progress=lambda name, done, total: seen.append(f"{name} {done}/{total}"),
        ended=lambda outcome: seen.append(f"{outcome.stage} {outcome.state}"),
    )
    assert seen == ["a 0/1", "a 1/1", "a done"]


@pytest.mark.parametrize("quick", [False, True])
def test_an_experiment_is_stored_by_its_size_and_resumed_where_it_can_be(tmp_path, monkeypatch, quick):
    """In place of every package of toy_lm, one that tells its size and the options it was given."""
    asked = {}

    class Config:
        size = "full"

        @classmethod
        def quick(cls):
            found = cls()
            found.size = "quick"
            return found

    def imported(name):
        def made(config, *, seed, progress, **options):
            asked[name] = options
            results = {"size": config.size, "third": 1 / 3}
            return record(f"toy.{name}", seed=seed, config={}, results=results, findings=[])

        return SimpleNamespace(Config=Config, run=made)

    monkeypatch.setattr(module, "toy", imported)
    plan = Plan(5, quick, tmp_path)
    plan.results.mkdir()
    for name in ("collapse", "styles"):
        module.experiment(name, plan, lambda done, total: None)
    assert asked["collapse"] == {}
    assert asked["styles"]["folder"].parent == plan.results / "styles_runs"
    found = Records(plan.results, quick).of("collapse")
    assert (found["kind"], found["seed"]) == ("toy.collapse", 5)
    assert found["results"] == {"size": "quick" if quick else "full", "third": 0.3333333333}


def test_outcomes_are_kept_with_their_seconds(plan):
    journal = module.StageJournal(plan)
    plan.results.mkdir()
    journal.add(stage("a"), StageEnd("a", "done", 1.5, "well"))
    assert json.loads((plan.results / "finished.json").read_text())["a"]["seconds"] == 1.5
    assert module.StageJournal(plan).finished(stage("a")) == StageEnd("a", "reused", 1.5, "well")
    journal.close()
    assert module.StageJournal(plan).finished(stage("a")) is None


def test_a_title_that_the_numbers_do_not_bear_out_fails_its_stage(tmp_path, monkeypatch):
    (tmp_path / "results").mkdir()
    one = module.figure("mu_beta")
    for true, state in ((True, "done"), (False, "failed")):
        monkeypatch.setattr(
            module, "figure", lambda name, true=true: replace(one, claim=lambda numbers: true)
        )
        made = attempt(Stage("figure.mu_beta", partial(module.drawing, "mu_beta"), ()), Plan(folder=tmp_path))
        assert made.state == state


INTERRUPTED = """
import sys, time
from functools import partial
from pathlib import Path
from figures.reproduce import Plan, Stage, reproduce

def quick(plan, progress):
    return "well"

def slow(plan, progress):
    (plan.folder / "slow").touch()
    time.sleep(60)

if __name__ == "__main__":
    todo = [Stage("a", quick, (), alone=True), Stage("b", slow, ())]
    try:
        reproduce(Plan(folder=Path(sys.argv[1])), todo)
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.slow
def test_an_interruption_ends_the_workers_and_keeps_what_is_finished(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    with subprocess.Popen([sys.executable, str(script), str(tmp_path)]) as process:
        while not (tmp_path / "slow").exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    finished = json.loads((tmp_path / "results" / "finished.json").read_text())
    assert list(finished) == ["a"]
