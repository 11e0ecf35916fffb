"""The measurements of the SQL runs against brute force, and one short study from the base to its report."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from support.tiny_training import TRL_WARNS

from full_scale.demo import QUICK_SIZE
from full_scale.experiments.runner import RunStore, StudyOptions
from full_scale.experiments.sql import runs, training
from full_scale.experiments.sql.claims import CLAIMS
from full_scale.experiments.sql.report import report
from full_scale.experiments.sql.runs import FinishedSqlRun, SqlRun
from full_scale.experiments.sql.training import ErringVerifier, least_kl
from full_scale.tasks.protocol import Score


@pytest.mark.parametrize("mean", [1.2, 2.0, 2.9])
def test_the_least_kl_is_that_of_the_nearest_policy_of_that_pass_rate(mean):
    counts = np.array([10, 30, 0, 20])
    base = counts[counts > 0] / counts.sum()
    passes = np.flatnonzero(counts)

    def kl(logits):
        policy = np.exp(logits - logits.max())
        policy /= policy.sum()
        return policy @ np.log(policy / base), policy @ passes

    found = minimize(
        lambda x: kl(x)[0],
        np.log(base),
        constraints={"type": "eq", "fun": lambda x: kl(x)[1] - mean},
        method="SLSQP",
        options={"ftol": 1e-12},
    )
    expected = max(found.fun, 0.0) if mean > base @ passes else 0.0
    assert least_kl(counts, mean) == pytest.approx(expected, abs=1e-5)


def test_at_the_end_the_least_kl_is_that_of_the_base_given_its_best_answers():
    assert least_kl(np.array([10, 30, 0, 20]), 3.0) == pytest.approx(np.log(3), abs=1e-6)
    assert least_kl(np.array([10, 30, 0, 20]), 0.1) == 0.0


class Alternating:
    def __call__(self, examples, completions):
        return [Score(bool(i % 2), "x") for i in range(len(completions))]

    def close(self):
        pass


def test_a_verifier_errs_at_its_rates_and_by_its_seed():
    run = SqlRun("verifier errors", false_positives=0.1, false_negatives=0.3)
    answers = ["x"] * 20_000
    accepted = np.array([score.correct for score in ErringVerifier(Alternating(), run)([], answers)])
    assert accepted[::2].mean() == pytest.approx(0.1, abs=0.01)
    assert accepted[1::2].mean() == pytest.approx(0.7, abs=0.015)
    again = [score.correct for score in ErringVerifier(Alternating(), run)([], answers)]
    assert again == accepted.tolist()
    other = ErringVerifier(Alternating(), replace(run, seed=3))([], answers)
    assert [score.correct for score in other] != again


@pytest.mark.slow
@pytest.mark.filterwarnings(TRL_WARNS)
def test_a_short_study_measures_its_course_and_reports_every_claim(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "SIZE", QUICK_SIZE)
    for name, value in {"STEPS": (1, 2), "ANSWERS": 64, "BASE_ANSWERS": 128}.items():
        monkeypatch.setattr(training, name, value)
    small = ("train.generation_batch_size=16", "train.per_device_train_batch_size=16", "presample.k=4")
    overrides = runs.SqlRun.overrides.fget
    more = (*small, "presample.threshold=1", "presample.fresh=false", "method.rehearsal_rows=8")
    monkeypatch.setattr(runs.SqlRun, "overrides", property(lambda run: (*overrides(run), *more)))
    base = training.measured_base(tmp_path)
    assert sum(base.held_out.styles.values()) == 128 * len(base.verdicts)
    forecast = training.shares_forecast(base, "mean", 8)
    assert forecast.pass_at_1[-1] > forecast.pass_at_1[0]
    store = RunStore(tmp_path / "store", {"kind": "sql"})
    store.write("base", "base", base)
    store.write("forecast", "mean", forecast)
    made = []
    for run in (SqlRun("divisors", steps=2), SqlRun("rehearsal", "DPH-F", "mean", steps=2, seed=3)):
        done = training.conduct(run, tmp_path, base)
        assert [point.step for point in done.course] == [1, 2]
        assert all(point.held_out.n == 64 and np.isfinite(point.kl) for point in done.course)
        assert len(done.hotter) == (3 if run.method == "GRPO" else 0)
        store.write("run", run.id, done)
        made.append(run)
    assert store.read("run", FinishedSqlRun)[made[0].id].run == made[0]
    told = report(store, made, StudyOptions(tmp_path))
    assert [row[0] for row in told.tables[0].rows] == ["base", "GRPO", "DPH-F by mean"]
    _, results = told.numbers()
    assert len(results["claims"]) == len(CLAIMS)
    assert {row["label"] for row in results["runs"]} == {"GRPO", "DPH-F by mean"}
