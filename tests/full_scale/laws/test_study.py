import json
from dataclasses import replace

import pytest
from support.law_outcomes import FOUND, outcome
from support.law_outcomes import RUN as FIRST

from dph_theory.support.record import as_json, checked
from full_scale.evaluation.exact import exact
from full_scale.laws import study
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
from full_scale.laws.study import (
    KIND,
    PREDICTION,
    RUN,
    TWIN,
    add_samples,
    opened,
    outcomes_in,
    pack,
    run_record,
    store,
    twins_in,
)
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

    monkeypatch.setattr(study, "run_jobs", one_by_one)
    monkeypatch.setattr(study, "base_tables", lambda run, bases: TASK.base)


def test_predictions_are_written_before_any_run_and_finished_runs_survive_a_failure(tmp_path):
    with pytest.raises(RuntimeError, match="went away"):
        run_record(RUNS, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert [line["what"] for line in lines[1:]] == [PREDICTION, PREDICTION, TWIN, TWIN, RUN]
    kept = opened(tmp_path)
    assert [outcome.run for outcome in outcomes_in(kept, RUNS)] == RUNS[:1]
    assert kept.lacks(RUN, [run.id for run in RUNS]) == [RUNS[1].id]
    assert kept.lacks(PREDICTION, [run.id for run in RUNS]) == []


def test_a_finished_record_runs_nothing_and_is_stored(tmp_path, monkeypatch):
    run_record(RUNS[:1], tmp_path)
    size = (tmp_path / "journal.jsonl").stat().st_size
    outcomes = run_record(RUNS[:1], tmp_path)
    assert (tmp_path / "journal.jsonl").stat().st_size == size
    store(outcomes, opened(tmp_path), tmp_path / "laws.json")
    stored = checked(json.loads((tmp_path / "laws.json").read_text()), KIND)
    assert stored["findings"] == [
        "which_law: 1 of 1 runs held to their law; by the nearest law and the validity alone 1."
    ]
    assert outcomes[0].predictions == predictions(RUNS[0], TASK, TASK.base)


def test_progress_counts_runs(tmp_path):
    seen = []
    run_record(RUNS[:1], tmp_path, progress=lambda *step: seen.append(step))
    assert seen == [(TWIN, 1, 1), (RUN, 1, 1)]
    assert exact(TASK, TASK.base, TASK.base).excess_kl == pytest.approx(0, abs=1e-12)


def test_packed_runs_are_finished_runs_elsewhere(tmp_path):
    # A beta that six digits do not hold: the id of a run is its content.
    runs = [replace(RUNS[0], beta=1 / 3), RUNS[1]]
    outcomes = run_record(runs[:1], tmp_path / "here")
    pack(outcomes, opened(tmp_path / "here"), tmp_path / "packed.xz")
    there = opened(tmp_path / "there")
    there.adopt(tmp_path / "packed.xz")
    assert [found.run for found in outcomes_in(opened(tmp_path / "there"), runs)] == runs[:1]
    assert outcomes_in(there, runs)[0].kl_to_law == outcomes[0].kl_to_law
    assert twins_in(there).keys() == {twin_of(runs[0]).id}
    size = there.journal.path.stat().st_size
    there.adopt(tmp_path / "packed.xz")
    assert there.journal.path.stat().st_size == size


def test_rows_from_before_they_were_named_are_read(tmp_path):
    """The journals and packs of earlier runs, which took hours: the same runs, under the same ids."""
    (found,) = run_record(RUNS[:1], tmp_path / "here")
    twin = twins_in(opened(tmp_path / "here"))[twin_of(RUNS[0]).id]
    before = {"outcome": as_json(found)}, {"twin": as_json(twin)}
    (tmp_path / "there").mkdir()
    lines = [{"kind": KIND}, {"id": RUNS[1].id, "predictions": as_json(found.predictions)}, *before]
    (tmp_path / "there" / "journal.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    there = opened(tmp_path / "there")
    assert outcomes_in(there, RUNS) == [found]
    assert twins_in(there) == {twin_of(RUNS[0]).id: twin}
    assert there.lacks(PREDICTION, [run.id for run in RUNS]) == []


def test_another_file_is_not_adopted(tmp_path):
    (tmp_path / "packed.xz").write_bytes(b"no such thing")
    with pytest.raises(ValueError, match=r"from='.*packed.xz' is not allowed: a file that `dph laws --pack`"):
        opened(tmp_path / "there").adopt(tmp_path / "packed.xz")


def test_trainings_are_sampled_for_misses_that_the_first_order_does_not_explain(tmp_path, monkeypatch):
    narrow = Twin(twin_of(FIRST), FOUND[0].exact, {FOUND[0].law: 0.0}, {"validity": 1e-9})
    kept = opened(tmp_path)
    kept.keep(TWIN, narrow.run.id, narrow)
    asked = []

    def one_by_one(function, jobs, **options):
        asked.extend(run.id for run, _ in jobs)
        yield from ((job, (SampledEnd(1.0, 1.0, 0.0),)) for job in jobs)

    monkeypatch.setattr(study, "run_jobs", one_by_one)
    missed, held = outcome(ended_at=1), outcome()
    add_samples(kept, [held])
    assert asked == []
    assert why_missed(missed, twins_in(kept)[narrow.run.id]) == UNEXPLAINED
    add_samples(kept, [missed, missed])
    assert asked == [narrow.run.id]
    # The samples are in the journal, and are not drawn again.
    again = opened(tmp_path)
    assert why_missed(missed, twins_in(again)[narrow.run.id]) == LOST
    add_samples(again, [missed])
    assert asked == [narrow.run.id]


def test_entropy_under_random_rewards_is_told_beside_that_of_samples():
    run = Run("coin", "selection-2", "none", false_positive=0.5, false_negative=0.5)
    outcomes = [outcome(run=replace(run, seed=seed), found=()) for seed in range(2)]
    begun = outcomes[0].course[0].exact.entropy
    ends = tuple(SampledEnd(0.0, 0.0, begun + moved) for moved in (-0.2, -0.1))
    twin = Twin(twin_of(run), FOUND[0].exact, {}, {}, sampled=ends)
    (sentence,) = study._of_random_rewards(outcomes, {twin.run.id: twin})
    assert sentence == (
        "coin: entropy moved by +0.0000 +- 0.0000 on selection-2, updates 1; "
        "2 trainings on samples: -0.1500 +- 0.0500."
    )
