from dataclasses import replace

import pytest
from support.untrained_runs import PREDICTED, TASK, expected_at, outcome

from full_scale.experiments.outcome import BARS, SELECTION_BARS, misses
from full_scale.experiments.small_llama.finished_runs import (
    BEYOND_FIRST_ORDER,
    NO_EXPECTED_GRADIENT,
    NOISE,
    TIME,
    UNEXPLAINED,
    SampledEnd,
    standardised_departures,
    why_missed,
)
from full_scale.experiments.small_llama.predictions import predictions
from full_scale.experiments.small_llama.runs import BASE, FILTERED, TOKEN_FORWARD, LlamaRun

BETWEEN = (SELECTION_BARS.kl + BARS.kl) / 2
"""A distance that the bars of other tasks allow, and those of this one do not."""


@pytest.mark.parametrize(
    ("ended_at", "kl", "task", "verdict"),
    [
        (0, (0.001, 0.2, 0.1), TASK.name, "matched"),
        # A planted wrong policy is found out.
        (2, (0.1, 0.2, 0.001), TASK.name, "missed: policy and answers"),
        (1, (0.001, 0.2, 0.1), TASK.name, "missed: pass rate"),
        (1, (0.3, 0.001, 0.2), TASK.name, "missed: policy and pass rate and answers"),
        # Collapsed answers of the right pass rate: P(first | valid) .99 where the policy has .9.
        (0, (0.071, 0.2, 0.1), TASK.name, "missed: answers"),
        (0, (BETWEEN, 0.2, 0.1), TASK.name, "missed: answers"),
        (0, (BETWEEN, 0.2, 0.1), "dial-0", "matched"),
    ],
)
def test_a_run_matches_by_the_nearest_policy_its_pass_rate_and_its_answers(ended_at, kl, task, verdict):
    finished = outcome(ended_at, kl, replace(outcome().run, task=task))
    assert finished.verdict == verdict
    assert finished.prediction.name == TOKEN_FORWARD
    assert (finished.nearest == TOKEN_FORWARD) == ("policy" not in verdict)
    free = outcome(run=LlamaRun("drift", TASK.name, "none"), predicted=())
    assert (free.nearest, free.gap, free.misses, free.verdict) == (None, None, (), "no prediction")


def test_a_target_is_matched_by_the_distance_from_it():
    run = LlamaRun("limits", TASK.name, "alpha_dpg", alpha=1.0)
    targets = predictions(run, TASK, TASK.base)
    stuck = replace(outcome(run=run, predicted=targets, kl=()), limits={FILTERED: 0.2, BASE: 0.37})
    assert (stuck.nearest, stuck.kl_to_prediction) == (FILTERED, 0.2)
    assert stuck.misses == ("answers",)
    assert "policy" in replace(stuck, limits={FILTERED: 0.7, BASE: 0.001}).misses


NEAR, FAR = SampledEnd(0.0, 0.0), SampledEnd(1.0, 1.0)
WIDE, NARROW = ({"pass_rate": v, "favourite_odds": v} for v in (1.0, 1e-6))
THERE = (0.001, 0.2, 0.1)


@pytest.mark.parametrize(
    ("expected", "why"),
    [
        (expected_at(0, THERE, WIDE), NOISE),
        (expected_at(0, THERE, NARROW), UNEXPLAINED),
        (expected_at(0, THERE, {**WIDE, "favourite_odds": 1e-6}), UNEXPLAINED),
        (expected_at(0, THERE, {}), UNEXPLAINED),
        (replace(expected_at(0, THERE, {}), sampled=(NEAR, FAR)), BEYOND_FIRST_ORDER),
        (replace(expected_at(0, THERE, NARROW), sampled=(NEAR, FAR)), BEYOND_FIRST_ORDER),
        (replace(expected_at(0, THERE, {}), sampled=(NEAR, NEAR)), UNEXPLAINED),
        (expected_at(1, (0.3, 0.001, 0.1), WIDE), TIME),
        (expected_at(0, (0.3, 0.5, 0.4), WIDE), TIME),
        (None, NO_EXPECTED_GRADIENT),
    ],
)
def test_a_miss_is_time_where_the_expected_gradient_misses_and_noise_where_it_is_near(expected, why):
    assert why_missed(outcome(ended_at=1), expected) == why
    assert why_missed(outcome(), expected) is None


def test_noise_is_counted_in_predicted_deviations():
    expected, missed = expected_at(0, THERE, {"pass_rate": 0.01, "favourite_odds": 0.0}), outcome(ended_at=1)
    gap = missed.last.exact.pass_rate[0] - PREDICTED[0].exact.pass_rate[0]
    assert standardised_departures(missed, expected) == {"pass_rate": pytest.approx(gap / 0.01)}


def test_of_policies_that_coincide_the_run_s_own_is_the_nearest():
    # On some tasks two policies are one, and distances differ by rounding.
    assert outcome(kl=(0.00028467, 0.00028466, 0.1)).nearest == TOKEN_FORWARD
    assert outcome(kl=(0.00028467, 0.00028, 0.1)).nearest != TOKEN_FORWARD


def test_a_policy_as_near_as_the_nearest_is_not_missed_whichever_is_named_first():
    two = {"rival": 0.00093, "own": 0.00093 + 5e-7, "far": 1.0}
    assert misses("own", two, gap=0.0) == ()
    assert misses("far", two, gap=0.5) == ("policy", "pass rate", "answers")
