import pytest
from support.law_outcomes import FOUND, TASK, outcome

from full_scale.laws.experiments import EXPERIMENTS, record_runs
from full_scale.laws.record import HEADERS, Tally, summary, table_rows, tallies
from full_scale.laws.run import TOKEN_FORWARD, TOKEN_REVERSE, Run


def test_the_tally_counts_runs_that_were_meant_to_reach_their_law():
    short = outcome(run=Run("budget_and_family", TASK.name, "sequence_kl", 0.5))
    free = outcome(run=Run("which_law", TASK.name, "none"), found=())
    runs = [outcome(), outcome(kl=(0.071, 0.2, 0.1)), outcome(ended_at=1), free, short]
    which, budget = tallies(runs)
    question = EXPERIMENTS["which_law"].question
    assert which == Tally(
        "which_law",
        question,
        True,
        planned=len(record_runs("which_law")),
        runs=4,
        judged=3,
        held=1,
        held_but_for_answers=2,
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


def test_rows_fit_the_headers():
    (row,) = table_rows([outcome()])
    assert len(row) == len(HEADERS)
    assert row[5] == TOKEN_FORWARD
