import json
from dataclasses import replace

import pytest
from support.law_outcomes import FOUND, RUN, outcome

from dph_theory.support.record import checked
from full_scale.evaluation.exact import exact
from full_scale.laws import stage
from full_scale.laws.predictions import predictions
from full_scale.laws.record import (
    LOST,
    UNEXPLAINED,
    FinishedRun,
    RunPoint,
    SampledEnd,
    Twin,
    twin_of,
    why_missed,
)
from full_scale.laws.runs import Run
from full_scale.laws.stage import KIND, RunJournal, pack, run_record, store
from full_scale.tasks.glass_box.box import box

TASK = box("selection-2")
RUNS = [Run("which_law", TASK.name, form, 0.5) for form in ("k3", "sequence_kl")]


def trained(job):
    """A run that ends at its law, without a training; a twin that does."""
    if len(job) == 2:
        law = predictions(job[0], TASK, TASK.base)[0]
        return Twin(job[0], law.exact, {law.law: 0.0}, {"validity": 0.01, "favourite_odds": 0.1})
    run, predicted, _ = job
    if run.form == "sequence_kl":
        raise RuntimeError("the machine went away")
    kl = {p.law: float(i) for i, p in enumerate(predicted)}
    return FinishedRun(run, predicted, (RunPoint(250, predicted[0].exact, kl),), {}, 1.0)


@pytest.fixture(autouse=True)
def no_training(monkeypatch):
    def one_by_one(function, jobs, **options):
        for job in jobs:
            yield job, trained(job)

    monkeypatch.setattr(stage, "run_jobs", one_by_one)
    monkeypatch.setattr(stage, "base_tables", lambda run, bases: TASK.base)


def test_predictions_are_written_before_any_run_and_finished_runs_survive_a_failure(tmp_path):
    with pytest.raises(RuntimeError, match="went away"):
        run_record(RUNS, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert [sorted(line)[0] for line in lines[1:]] == ["beta", "beta", "twin", "twin", "outcome"]
    kept = RunJournal(tmp_path)
    assert [outcome.run for outcome in kept.done(RUNS)] == RUNS[:1]
    assert kept.to_do(RUNS) == RUNS[1:]
    assert set(kept.predicted) == {run.id for run in RUNS}


def test_a_finished_record_runs_nothing_and_is_stored(tmp_path, monkeypatch):
    run_record(RUNS[:1], tmp_path)
    size = (tmp_path / "journal.jsonl").stat().st_size
    outcomes = run_record(RUNS[:1], tmp_path)
    assert (tmp_path / "journal.jsonl").stat().st_size == size
    store(outcomes, RunJournal(tmp_path), tmp_path / "laws.json")
    stored = checked(json.loads((tmp_path / "laws.json").read_text()), KIND)
    assert stored["findings"] == [
        "which_law: 1 of 1 runs held to their law; by the nearest law and the validity alone 1."
    ]
    assert outcomes[0].predictions == predictions(RUNS[0], TASK, TASK.base)


def test_progress_counts_runs(tmp_path):
    seen = []
    run_record(RUNS[:1], tmp_path, progress=lambda *step: seen.append(step))
    assert seen == [("twins", 1, 1), ("laws", 1, 1)]
    assert exact(TASK, TASK.base, TASK.base).excess_kl == pytest.approx(0, abs=1e-12)


def test_packed_runs_are_finished_runs_elsewhere(tmp_path):
    outcomes = run_record(RUNS[:1], tmp_path / "here")
    pack(outcomes, RunJournal(tmp_path / "here").twins.values(), tmp_path / "packed.xz")
    there = RunJournal(tmp_path / "there")
    there.adopt(tmp_path / "packed.xz")
    assert RunJournal(tmp_path / "there").to_do(RUNS) == RUNS[1:]
    assert there.done(RUNS)[0].kl_to_law == outcomes[0].kl_to_law
    assert there.without_twin(RUNS) == RunJournal(tmp_path / "nowhere").without_twin(RUNS[1:])
    size = there.journal.path.stat().st_size
    there.adopt(tmp_path / "packed.xz")
    assert there.journal.path.stat().st_size == size


def test_another_file_is_not_adopted(tmp_path):
    (tmp_path / "packed.xz").write_bytes(b"no such thing")
    with pytest.raises(ValueError, match=r"from='.*packed.xz' is not allowed: a file that `dph laws --pack`"):
        RunJournal(tmp_path / "there").adopt(tmp_path / "packed.xz")


def test_trainings_are_sampled_for_misses_that_the_first_order_does_not_explain(tmp_path, monkeypatch):
    narrow = Twin(twin_of(RUN), FOUND[0].exact, {FOUND[0].law: 0.0}, {"validity": 1e-9})
    kept = RunJournal(tmp_path)
    kept.add_twin(narrow)
    asked = []

    def one_by_one(function, jobs, **options):
        asked.extend(run.id for run, _ in jobs)
        yield from ((job, (SampledEnd(1.0, 1.0, 0.0),)) for job in jobs)

    monkeypatch.setattr(stage, "run_jobs", one_by_one)
    missed, held = outcome(ended_at=1), outcome()
    stage.add_samples(kept, [held])
    assert asked == []
    assert why_missed(missed, kept.twins[narrow.run.id]) == UNEXPLAINED
    stage.add_samples(kept, [missed, missed])
    assert asked == [narrow.run.id]
    # The samples are in the journal, and are not drawn again.
    again = RunJournal(tmp_path)
    assert why_missed(missed, again.twins[narrow.run.id]) == LOST
    stage.add_samples(again, [missed])
    assert asked == [narrow.run.id]


def test_entropy_under_random_rewards_is_told_beside_that_of_samples():
    run = Run("coin", "selection-2", "none", false_positive=0.5, false_negative=0.5)
    outcomes = [outcome(run=replace(run, seed=seed), found=()) for seed in range(2)]
    begun = outcomes[0].course[0].exact.entropy
    ends = tuple(SampledEnd(0.0, 0.0, begun + moved) for moved in (-0.2, -0.1))
    twin = Twin(twin_of(run), FOUND[0].exact, {}, {}, sampled=ends)
    (sentence,) = stage._of_random_rewards(outcomes, {twin.run.id: twin})
    assert sentence == (
        "coin: entropy moved by +0.0000 +- 0.0000 on selection-2, updates 1; "
        "2 trainings on samples: -0.1500 +- 0.0500."
    )
