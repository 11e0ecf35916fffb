from dataclasses import replace

import pytest
from support.law_outcomes import FOUND, TASK, outcome, twin_at

from full_scale.experiments.record import BARS, SELECTION_BARS, misses
from full_scale.experiments.small_llama.predictions import predictions
from full_scale.experiments.small_llama.record import (
    LOST,
    LUCK,
    NO_TWIN,
    TIME,
    UNEXPLAINED,
    SampledEnd,
    luck,
    why_missed,
)
from full_scale.experiments.small_llama.runs import BASE, FILTERED, TOKEN_FORWARD, Run

BETWEEN = (SELECTION_BARS.kl + BARS.kl) / 2
"""A distance that the bars of other tasks allow, and those of this one do not."""


@pytest.mark.parametrize(
    ("ended_at", "kl", "task", "verdict"),
    [
        (0, (0.001, 0.2, 0.1), TASK.name, "held"),
        # A planted wrong law is found out.
        (2, (0.1, 0.2, 0.001), TASK.name, "missed: law and answers"),
        (1, (0.001, 0.2, 0.1), TASK.name, "missed: validity"),
        (1, (0.3, 0.001, 0.2), TASK.name, "missed: law and validity and answers"),
        # Collapsed answers of the right validity: P(first | valid) .99 where the law has .9.
        (0, (0.071, 0.2, 0.1), TASK.name, "missed: answers"),
        (0, (BETWEEN, 0.2, 0.1), TASK.name, "missed: answers"),
        (0, (BETWEEN, 0.2, 0.1), "dial-0", "held"),
    ],
)
def test_a_run_holds_by_the_nearest_law_its_validity_and_its_answers(ended_at, kl, task, verdict):
    found = outcome(ended_at, kl, replace(outcome().run, task=task))
    assert found.verdict == verdict
    assert found.law.law == TOKEN_FORWARD
    assert (found.nearest == TOKEN_FORWARD) == ("law" not in verdict)
    free = outcome(run=Run("degeneracy", TASK.name, "none"), found=())
    assert (free.nearest, free.gap, free.misses, free.verdict) == (None, None, (), "no law")


def test_a_target_is_held_by_the_distance_from_it():
    run = Run("targets", TASK.name, "rehearsal", 1.0, rehearsed="k3", reward=False)
    found = predictions(run, TASK, TASK.base)
    stuck = replace(outcome(run=run, found=found, kl=()), limits={FILTERED: 0.37, BASE: 0.2})
    assert (stuck.nearest, stuck.kl_to_law) == (BASE, 0.2)
    assert stuck.misses == ("answers",)
    assert "law" in replace(stuck, limits={FILTERED: 0.001, BASE: 0.7}).misses


NEAR, FAR = SampledEnd(0.0, 0.0, 0.0), SampledEnd(1.0, 1.0, 0.0)
WIDE, NARROW = ({"validity": v, "favourite_odds": v} for v in (1.0, 1e-6))
THERE = (0.001, 0.2, 0.1)


@pytest.mark.parametrize(
    ("twin", "why"),
    [
        (twin_at(0, THERE, WIDE), LUCK),
        (twin_at(0, THERE, NARROW), UNEXPLAINED),
        (twin_at(0, THERE, {**WIDE, "favourite_odds": 1e-6}), UNEXPLAINED),
        (twin_at(0, THERE, {}), UNEXPLAINED),
        (replace(twin_at(0, THERE, {}), sampled=(NEAR, FAR)), LOST),
        (replace(twin_at(0, THERE, NARROW), sampled=(NEAR, FAR)), LOST),
        (replace(twin_at(0, THERE, {}), sampled=(NEAR, NEAR)), UNEXPLAINED),
        (twin_at(1, (0.3, 0.001, 0.1), WIDE), TIME),
        (twin_at(0, (0.3, 0.5, 0.4), WIDE), TIME),
        (None, NO_TWIN),
    ],
)
def test_a_miss_is_time_where_its_twin_misses_and_luck_where_it_is_near_its_twin(twin, why):
    assert why_missed(outcome(ended_at=1), twin) == why
    assert why_missed(outcome(), twin) is None


def test_luck_is_counted_in_predicted_deviations():
    twin, missed = twin_at(0, THERE, {"validity": 0.01, "favourite_odds": 0.0}), outcome(ended_at=1)
    gap = missed.last.exact.validity[0] - FOUND[0].exact.validity[0]
    assert luck(missed, twin) == {"validity": pytest.approx(gap / 0.01)}


def test_of_laws_that_coincide_the_run_s_own_is_the_nearest():
    # On some tasks two laws are one, and distances differ by rounding.
    assert outcome(kl=(0.00028467, 0.00028466, 0.1)).nearest == TOKEN_FORWARD
    assert outcome(kl=(0.00028467, 0.00028, 0.1)).nearest != TOKEN_FORWARD


def test_a_law_as_near_as_the_nearest_is_not_missed_whichever_is_named_first():
    two = {"rival": 0.00093, "own": 0.00093 + 5e-7, "far": 1.0}
    assert misses("own", two, gap=0.0) == ()
    assert misses("far", two, gap=0.5) == ("law", "validity", "answers")
