"""The rivals of the SQL claims against brute force, and what the claims need is declared."""

from dataclasses import replace

import numpy as np
import pytest

from full_scale.experiments.sql.claims import CLAIMS, SeedRuns, early_stopping, hotter_sampling, mixture
from full_scale.experiments.sql.runs import (
    Answered,
    Checkpoint,
    FinishedSqlRun,
    MeasuredBase,
    SharesForecast,
    SqlRun,
    declared,
)

RUN = Answered(20, (20, 12, 0, 3), {"a": 70, "other": 10})
BASE = Answered(30, (12, 9, 6, 3), {"a": 50, "other": 70})
ALONE = MeasuredBase(BASE, BASE, {}, {}, 0, 0)


def test_every_run_is_declared_once_and_every_claim_is_about_declared_runs():
    runs = declared()
    assert len({run.id for run in runs}) == len(runs)
    labels = {run.label for run in runs}

    class Needed(dict):
        def __missing__(self, label):
            assert label in labels
            raise KeyError(label)

    for claim in CLAIMS:
        with pytest.raises(KeyError):
            claim.value(SeedRuns(Needed(), ALONE, {}))
        assert claim.rival
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_mixture_is_what_drawing_from_both_gives_at_the_pass_rate_asked_for(k):
    rate = 0.4
    weight = (RUN.pass_at(1) - rate) / (RUN.pass_at(1) - BASE.pass_at(1))
    rng = np.random.default_rng(0)
    solved = []
    for run, base in zip(RUN.correct, BASE.correct, strict=True):
        from_base = rng.binomial(k, weight, size=20_000)
        own = rng.hypergeometric(run, RUN.n - run, k - from_base) if k else 0
        other = rng.hypergeometric(base, BASE.n - base, from_base)
        solved.append(np.mean(own + other > 0))
    assert mixture(RUN, BASE, rate, k) == pytest.approx(np.mean(solved), abs=0.01)
    if k == 1:
        assert mixture(RUN, BASE, rate, 1) == pytest.approx(rate)
    # No mixing raises a pass rate.
    assert mixture(RUN, BASE, 0.9, k) == pytest.approx(RUN.pass_at(k))


def checkpoint(step, correct):
    answers = Answered(8, tuple(2 * c for c in correct), {"a": 8})
    return Checkpoint(step, answers, answers, 0.0, 0.0)


def test_early_stopping_takes_the_best_checkpoint_of_enough_pass_at_1():
    course = (checkpoint(10, (2, 1, 1)), checkpoint(20, (4, 2, 0)), checkpoint(40, (4, 4, 0)))
    run = FinishedSqlRun(SqlRun("divisors"), course)
    assert early_stopping(run, 40, 0.3, 8) == course[0].held_out.pass_at(8) == 1
    # The first checkpoint solves every prompt in eight draws, but not at this Pass@1.
    assert early_stopping(run, 40, 0.6, 8) == course[2].held_out.pass_at(8) < 1
    assert early_stopping(run, 40, 0.6, 2) == course[2].held_out.pass_at(2)
    assert early_stopping(run, 20, 0.9, 2) == course[1].held_out.pass_at(2)


def test_hotter_sampling_is_between_its_temperatures_and_needs_them():
    cold = checkpoint(40, (4, 4, 0))
    hot = replace(cold.held_out, correct=(4, 4, 4), temperature=1.4)
    run = FinishedSqlRun(SqlRun("divisors"), (cold,), (hot,))
    middle = (cold.held_out.pass_at(1) + hot.pass_at(1)) / 2
    assert hotter_sampling(run, middle, 2) == pytest.approx((cold.held_out.pass_at(2) + hot.pass_at(2)) / 2)
    assert hotter_sampling(run, 0.9, 2) == cold.held_out.pass_at(2)
    with pytest.raises(KeyError):
        hotter_sampling(replace(run, hotter=()), 0.5, 2)


def test_claims_take_the_runs_of_their_step_and_their_forecasts():
    rows = {"MaxRL": (4, 4, 1), "GRPO": (4, 4, 0), "Dr. GRPO": (4, 3, 0)}
    runs = {
        label: FinishedSqlRun(SqlRun("divisors"), tuple(checkpoint(step, correct) for step in (160, 640)))
        for label, correct in rows.items()
    }
    forecast = SharesForecast("mean", 8, (0.1, 0.9), (0.5, 0.7), (0.6, 0.8))
    seed = SeedRuns(runs, ALONE, {"mean": forecast})
    values = {claim.name: claim.value for claim in CLAIMS}
    assert values["equal_pass_at_1_640"](seed) == pytest.approx(1 / 12)
    assert values["forecast_mean_640"](seed) == pytest.approx(
        runs["MaxRL"].at(640).trained.pass_at(8) - forecast.pass_at(8, 0.75)
    )
    with pytest.raises(KeyError):
        values["dph_f_by_mean_retains_640"](seed)
    assert values["forecast_mean_640_beats_base"](seed) == pytest.approx(
        abs(values["forecast_mean_640"](seed))
        - abs(runs["MaxRL"].at(640).trained.pass_at(8) - BASE.pass_at(8))
    )
