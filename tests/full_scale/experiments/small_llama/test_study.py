import json
from dataclasses import replace

import pytest
from support.untrained_runs import RUN, TASK, expected_at, outcome

from dph_theory.support import journal
from full_scale.experiments.runner import RUN as FINISHED
from full_scale.experiments.runner import RunStore, StudyOptions
from full_scale.experiments.small_llama import expected_gradient, training
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
from full_scale.experiments.small_llama.study import (
    EXPECTED_GRADIENT,
    PREDICTION,
    expected_gradient_runs,
    explanations,
    outcomes_of,
    steps,
)

RUNS = [LlamaRun("which_policy", TASK.name, form, 0.5) for form in ("k3", "sequence_kl")]


def store_in(folder):
    return RunStore(folder, {"kind": "laws"})


def conducted(folder, runs, progress=lambda *step: None, **options):
    store = store_in(folder)
    store.fill(steps(store, runs, StudyOptions(folder, **options)), progress=progress)
    return store


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
            run, policy.exact, {policy.name: 0.0}, {"pass_rate": 0.01, "favourite_odds": 0.1}
        )

    monkeypatch.setattr(journal, "run_jobs", lambda of, jobs, **options: ((job, of(job)) for job in jobs))
    monkeypatch.setattr(training, "tables_of", lambda task, folder: TASK.base)
    monkeypatch.setattr(training, "build_base", lambda task, folder: folder)
    monkeypatch.setattr(training, "conduct", conduct)
    monkeypatch.setattr(expected_gradient, "train_in_expectation", in_expectation)


def test_predictions_are_written_before_any_run_and_finished_runs_survive_a_failure(tmp_path):
    with pytest.raises(RuntimeError, match="went away"):
        conducted(tmp_path, RUNS)
    lines = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert [line["key"].partition("/")[0] for line in lines[1:]] == [
        PREDICTION,
        PREDICTION,
        EXPECTED_GRADIENT,
        EXPECTED_GRADIENT,
        FINISHED,
    ]
    again = store_in(tmp_path)
    assert [outcome.run for outcome in outcomes_of(again, RUNS)] == RUNS[:1]
    assert again.missing(FINISHED, [run.id for run in RUNS]) == [RUNS[1].id]


def test_packed_runs_are_finished_runs_elsewhere_and_are_not_run_again(tmp_path):
    # A beta that six digits do not hold: the id of a run is its content.
    run, seen = replace(RUNS[0], beta=1 / 3), []
    here = conducted(tmp_path / "here", [run], lambda *step: seen.append(step))
    (found,) = outcomes_of(here, [run])
    assert seen == [(PREDICTION, 1, 1), (EXPECTED_GRADIENT, 1, 1), (FINISHED, 1, 1)]
    assert found.predictions == predictions(run, TASK, TASK.base)
    there = store_in(tmp_path / "there")
    here.pack(tmp_path / "packed.xz", without=PREDICTION)
    there.adopt(tmp_path / "packed.xz")
    size = (tmp_path / "there" / "journal.jsonl").stat().st_size
    (read,) = outcomes_of(conducted(tmp_path / "there", [run]), [run])
    assert (tmp_path / "there" / "journal.jsonl").stat().st_size == size
    assert (read.run, read.kl_to_prediction) == (run, found.kl_to_prediction)
    assert expected_gradient_runs(there).keys() == {expected_gradient_of(run).id}


def test_a_quick_run_trains_expected_gradient_runs_only_where_there_is_no_stationary_policy(
    tmp_path, monkeypatch
):
    drift = LlamaRun("drift", TASK.name, "none", 0.0)
    monkeypatch.setattr(training, "conduct", lambda run, predicted, bases: outcome(run=run))
    monkeypatch.setattr(
        expected_gradient,
        "train_in_expectation",
        lambda run, bases: ExpectedGradientRun(run, outcome().last.exact, {}, {}),
    )
    of = conducted(tmp_path, [RUNS[0], drift], quick=True)
    assert expected_gradient_runs(of).keys() == {expected_gradient_of(drift).id}
    of.fill(explanations(of, RUNS[:1]))
    assert expected_gradient_runs(of).keys() == {
        expected_gradient_of(drift).id,
        expected_gradient_of(RUNS[0]).id,
    }


def test_trainings_are_sampled_for_misses_that_the_first_order_does_not_explain(tmp_path, monkeypatch):
    drawn, narrow = [], expected_at(0, (0.0, 1.0, 1.0), {"pass_rate": 1e-9})

    def ends(run, bases, seeds):
        drawn.append(run.id)
        return (SampledEnd(1.0, 1.0),)

    monkeypatch.setattr(expected_gradient, "sampled_ends", ends)
    missed = ("missed", outcome(ended_at=1), [narrow.run.id], BEYOND_FIRST_ORDER)
    for name, found, sampled, why in (("matched", outcome(), [], None), missed):
        of = store_in(tmp_path / name)
        of.write(FINISHED, RUN.id, found)
        of.write(EXPECTED_GRADIENT, narrow.run.id, narrow)
        assert why_missed(found, narrow) == (why and UNEXPLAINED)
        # The samples are in the journal, and are not drawn again.
        of.fill(explanations(of, [RUN]))
        again = store_in(tmp_path / name)
        again.fill(explanations(again, [RUN]))
        assert drawn == sampled
        assert why_missed(found, expected_gradient_runs(again)[narrow.run.id]) == why
