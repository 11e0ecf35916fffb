import json
from dataclasses import replace

import pytest
from support.untrained_runs import RUN, TASK, expected_at, outcome

from dph_theory.support import journal
from full_scale.experiments.small_llama import study
from full_scale.experiments.small_llama.finished_runs import (
    BEYOND_FIRST_ORDER,
    UNEXPLAINED,
    ExpectedGradientRun,
    SampledEnd,
    expected_gradient_of,
    why_missed,
)
from full_scale.experiments.small_llama.predictions import predictions
from full_scale.experiments.small_llama.runs import LlamaRun
from full_scale.experiments.small_llama.study import EXPECTED_GRADIENT, PREDICTION, Study

RUNS = [LlamaRun("which_policy", TASK.name, form, 0.5) for form in ("k3", "sequence_kl")]


@pytest.fixture(autouse=True)
def no_training(monkeypatch):
    """Every job at once and here; all end at their stationary policy, and one run fails."""

    def conduct(run, predicted, bases):
        if run.form == "sequence_kl":
            raise RuntimeError("the machine went away")
        return replace(outcome(run=run, predicted=predicted), predictions=predicted)

    def in_expectation(run, bases):
        policy = predictions(run, TASK, TASK.base)[0]
        return ExpectedGradientRun(
            run, policy.exact, {policy.name: 0.0}, {"validity": 0.01, "favourite_odds": 0.1}
        )

    monkeypatch.setattr(journal, "run_jobs", lambda of, jobs, **options: ((job, of(job)) for job in jobs))
    monkeypatch.setattr(study, "tables_of", lambda task, folder: TASK.base)
    monkeypatch.setattr(study, "build_base", lambda task, folder: folder)
    monkeypatch.setattr(study, "conduct", conduct)
    monkeypatch.setattr(study, "train_in_expectation", in_expectation)


def test_predictions_are_written_before_any_run_and_finished_runs_survive_a_failure(tmp_path):
    with pytest.raises(RuntimeError, match="went away"):
        Study(tmp_path).run(RUNS)
    lines = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert [line["key"].partition("/")[0] for line in lines[1:]] == [
        PREDICTION,
        PREDICTION,
        EXPECTED_GRADIENT,
        EXPECTED_GRADIENT,
        study.RUN,
    ]
    again = Study(tmp_path)
    assert [outcome.run for outcome in again.outcomes(RUNS)] == RUNS[:1]
    assert again.store.missing(study.RUN, [run.id for run in RUNS]) == [RUNS[1].id]


def test_packed_runs_are_finished_runs_elsewhere_and_are_not_run_again(tmp_path):
    # A beta that six digits do not hold: the id of a run is its content.
    run, seen = replace(RUNS[0], beta=1 / 3), []
    here, there = (
        Study(tmp_path / "here", progress=lambda *step: seen.append(step)),
        Study(tmp_path / "there"),
    )
    (found,) = here.run([run])
    assert seen == [(EXPECTED_GRADIENT, 1, 1), (study.RUN, 1, 1)]
    assert found.predictions == predictions(run, TASK, TASK.base)
    here.store.pack(tmp_path / "packed.xz", without=PREDICTION)
    there.store.adopt(tmp_path / "packed.xz")
    size = (tmp_path / "there" / "journal.jsonl").stat().st_size
    (read,) = Study(tmp_path / "there").run([run])
    assert (tmp_path / "there" / "journal.jsonl").stat().st_size == size
    assert (read.run, read.kl_to_prediction) == (run, found.kl_to_prediction)
    assert there.expected_gradient.keys() == {expected_gradient_of(run).id}


def test_a_quick_run_trains_expected_gradient_runs_only_where_there_is_no_stationary_policy(
    tmp_path, monkeypatch
):
    drift = LlamaRun("drift", TASK.name, "none", 0.0)
    monkeypatch.setattr(study, "conduct", lambda run, predicted, bases: outcome(run=run))
    monkeypatch.setattr(
        study,
        "train_in_expectation",
        lambda run, bases: ExpectedGradientRun(run, outcome().last.exact, {}, {}),
    )
    of = Study(tmp_path)
    of.run([RUNS[0], drift], explained=False)
    assert of.expected_gradient.keys() == {expected_gradient_of(drift).id}
    of.explain(RUNS[:1])
    assert of.expected_gradient.keys() == {expected_gradient_of(drift).id, expected_gradient_of(RUNS[0]).id}


def test_trainings_are_sampled_for_misses_that_the_first_order_does_not_explain(tmp_path, monkeypatch):
    drawn, narrow = [], expected_at(0, (0.0, 1.0, 1.0), {"validity": 1e-9})

    def ends(run, bases, seeds):
        drawn.append(run.id)
        return (SampledEnd(1.0, 1.0),)

    monkeypatch.setattr(study, "sampled_ends", ends)
    missed = ("missed", outcome(ended_at=1), [narrow.run.id], BEYOND_FIRST_ORDER)
    for name, found, sampled, why in (("matched", outcome(), [], None), missed):
        of = Study(tmp_path / name)
        of.store.write(study.RUN, RUN.id, found)
        of.store.write(EXPECTED_GRADIENT, narrow.run.id, narrow)
        assert why_missed(found, narrow) == (why and UNEXPLAINED)
        # The samples are in the journal, and are not drawn again.
        of.explain([RUN])
        Study(tmp_path / name).explain([RUN])
        assert drawn == sampled
        assert why_missed(found, Study(tmp_path / name).expected_gradient[narrow.run.id]) == why
