import json
from dataclasses import replace

import pytest
from support.law_outcomes import FOUND, TASK, outcome

from dph_theory.support.record import as_json, from_json
from full_scale.laws.experiments import experiments, record_runs
from full_scale.laws.predictions import predictions
from full_scale.laws.record import (
    BARS,
    LOST,
    LUCK,
    NO_TWIN,
    SELECTION_BARS,
    TIME,
    UNEXPLAINED,
    FinishedRun,
    SampledEnd,
    Tally,
    Twin,
    luck,
    nearest_of,
    summary,
    tallies,
    tally_table,
    twin_of,
    why_missed,
)
from full_scale.laws.runs import BASE, FILTERED, TOKEN_FORWARD, TOKEN_REVERSE, Run


def test_a_run_at_its_law_has_held():
    assert outcome().nearest == TOKEN_FORWARD
    assert outcome().gap == 0
    assert outcome().verdict == outcome().full_verdict == "held"


def test_a_planted_wrong_law_is_found_out():
    wrong = outcome(ended_at=2, kl=(0.1, 0.2, 0.001))
    assert wrong.nearest == TOKEN_REVERSE
    assert wrong.verdict == "missed: law"
    assert outcome(ended_at=1).verdict == "missed: validity"
    far = outcome(ended_at=1, kl=(0.3, 0.001, 0.2))
    assert far.verdict == "missed: law and validity"


def test_collapsed_answers_of_the_right_validity_do_not_hold():
    # P(first | valid) .99 where the law has .9.
    collapsed = outcome(kl=(0.071, 0.2, 0.1))
    assert collapsed.verdict == "held"
    assert collapsed.full_verdict == "missed: answers"
    between = (SELECTION_BARS.kl + BARS.kl) / 2
    assert outcome(kl=(between, 0.2, 0.1)).full_verdict == "missed: answers"
    elsewhere = replace(outcome().run, task="dial-0")
    assert outcome(kl=(between, 0.2, 0.1), run=elsewhere).full_verdict == "held"


def test_a_run_without_a_law_has_no_verdict():
    free = outcome(run=Run("degeneracy", TASK.name, "none"), found=())
    assert (free.nearest, free.gap, free.full_verdict) == (None, None, "no law")


def test_a_target_is_held_by_the_distance_from_it():
    run = Run("targets", TASK.name, "rehearsal", 1.0, rehearsed="k3", reward=False)
    found = predictions(run, TASK, TASK.base)
    stuck = replace(outcome(run=run, found=found, kl=()), limits={FILTERED: 0.37, BASE: 0.2})
    assert (stuck.nearest, stuck.kl_to_law) == (BASE, 0.2)
    assert stuck.full_verdict == "missed: answers"
    assert replace(stuck, limits={FILTERED: 0.001, BASE: 0.7}).verdict == "missed: law"


def test_json_gives_back_the_outcome():
    found = outcome()
    assert from_json(FinishedRun, json.loads(json.dumps(as_json(found)))) == found
    assert FOUND[0].exact.validity == pytest.approx(found.last.exact.validity)


def test_the_tally_counts_runs_that_were_meant_to_reach_their_law():
    short = outcome(run=Run("budget_and_family", TASK.name, "sequence_kl", 0.5))
    free = outcome(run=Run("which_law", TASK.name, "none"), found=())
    runs = [outcome(), outcome(kl=(0.071, 0.2, 0.1)), outcome(ended_at=1), free, short]
    which, budget = tallies(runs)
    question = experiments()["which_law"].question
    assert which == Tally(
        "which_law",
        question,
        True,
        planned=len(record_runs("which_law")),
        runs=4,
        judged=3,
        held=1,
        held_but_for_answers=2,
        missed_by={NO_TWIN: 2},
    )
    assert (budget.to_the_end, budget.runs, budget.judged) == (False, 1, 0)


def test_the_summary_is_what_figures_read():
    free = outcome(run=Run("way_back", TASK.name, "none", every=250), found=())
    found = summary([outcome(), free])
    runs = found["runs"]
    assert (runs["form"], runs["beta"]) == (["k3", "none"], [0.5, 0])
    assert runs["verdict"] == runs["full_verdict"] == ["held", "no law"]
    assert (runs["judged"], runs["kl_to_law"]) == ([True, False], [0.001, None])
    assert [entry["held"] for entry in found["experiments"]] == [1, 0]
    assert runs["law"] == [TOKEN_FORWARD, None]
    assert (
        runs["validity"][0] == runs["law_validity"][0] == pytest.approx(FOUND[0].exact.validity[0], rel=1e-4)
    )
    assert runs[f"kl {TOKEN_REVERSE}"] == [0.1, None]
    (course,) = found["courses"]
    assert course["digest"] == free.run.digest == runs["digest"][1]
    assert course["step"] == [0, 250]


def twin_at(ended_at, kl, deviations):
    """A twin that ends at one of the laws predicted."""
    distances = {p.law: value for p, value in zip(FOUND, kl, strict=True)}
    return Twin(twin_of(outcome().run), FOUND[ended_at].exact, distances, deviations)


NEAR, FAR = SampledEnd(0.0, 0.0, 0.0), SampledEnd(1.0, 1.0, 0.0)
WIDE, NARROW = ({"validity": v, "favourite_odds": v} for v in (1.0, 1e-6))


@pytest.mark.parametrize(
    ("twin", "why"),
    [
        (twin_at(0, (0.001, 0.2, 0.1), WIDE), LUCK),
        (twin_at(0, (0.001, 0.2, 0.1), NARROW), UNEXPLAINED),
        (twin_at(0, (0.001, 0.2, 0.1), {**WIDE, "favourite_odds": 1e-6}), UNEXPLAINED),
        (twin_at(0, (0.001, 0.2, 0.1), {}), UNEXPLAINED),
        (replace(twin_at(0, (0.001, 0.2, 0.1), {}), sampled=(NEAR, FAR)), LOST),
        (replace(twin_at(0, (0.001, 0.2, 0.1), NARROW), sampled=(NEAR, FAR)), LOST),
        (replace(twin_at(0, (0.001, 0.2, 0.1), {}), sampled=(NEAR, NEAR)), UNEXPLAINED),
        (twin_at(1, (0.3, 0.001, 0.1), WIDE), TIME),
        (twin_at(0, (0.3, 0.5, 0.4), WIDE), TIME),
        (None, NO_TWIN),
    ],
    ids=[
        "luck",
        "too far for luck",
        "too far in one measure",
        "no deviations",
        "as far as a sample, none carried",
        "as far as a sample",
        "further than all samples",
        "another law",
        "not there yet",
        "no twin",
    ],
)
def test_a_miss_is_time_where_its_twin_misses_and_luck_where_it_is_near_its_twin(twin, why):
    missed = outcome(ended_at=1)
    assert why_missed(missed, twin) == why
    assert why_missed(outcome(), twin) is None
    twins = {} if twin is None else {twin.run.id: twin}
    assert tallies([missed, outcome()], twins)[0].missed_by == {why: 1}
    assert summary([missed], twins)["runs"]["why_missed"] == [why]


def test_luck_is_counted_in_predicted_deviations():
    twin = twin_at(0, (0.001, 0.2, 0.1), {"validity": 0.01, "favourite_odds": 0.0})
    missed = outcome(ended_at=1)
    gap = missed.last.exact.validity[0] - FOUND[0].exact.validity[0]
    assert luck(missed, twin) == {"validity": pytest.approx(gap / 0.01)}


def test_an_experiment_is_a_row_whatever_its_runs():
    table = tally_table(tallies([outcome(), outcome(ended_at=1)]))
    (row,) = table.rows
    assert (row[0], row[3]) == ("which_law", "1 of 2")
    assert row[4] == "1 no twin"


def test_of_laws_that_coincide_the_run_s_own_is_the_nearest():
    # On some tasks two laws are one, and distances differ by rounding.
    assert nearest_of({"own": 0.00028467, "rival": 0.00028466}) == "own"
    assert nearest_of({"own": 0.00028467, "rival": 0.00028}) == "rival"
    assert nearest_of({}) is None
