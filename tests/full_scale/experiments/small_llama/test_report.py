import json
from dataclasses import replace

import pytest
from support.law_outcomes import FOUND, RUN, TASK, outcome, twin_at

from dph_theory.support.record import checked
from full_scale.experiments.kept import Asked
from full_scale.experiments.small_llama import report
from full_scale.experiments.small_llama.record import NO_TWIN, TIME, SampledEnd, Twin, twin_of
from full_scale.experiments.small_llama.report import Tally, findings, results, tallies, tally_table, told
from full_scale.experiments.small_llama.runs import TOKEN_FORWARD, TOKEN_REVERSE, Run
from full_scale.experiments.small_llama.study import KIND, Study

SHORT = Run("budget_and_family", TASK.name, "sequence_kl", 0.5)
FREE = Run("which_law", TASK.name, "none")


def test_the_tally_counts_runs_that_were_meant_to_reach_their_law():
    done = [
        outcome(),
        outcome(kl=(0.071, 0.2, 0.1)),
        outcome(ended_at=1),
        outcome(run=FREE, found=()),
        outcome(run=SHORT),
    ]
    asked = [*(found.run for found in done), SHORT, Run("iteration", TASK.name, "none")]
    found = tallies(asked, done, {})
    assert found[0] == Tally("which_law", 4, 4, 3, held=1, held_but_for_answers=2, missed_by={NO_TWIN: 2})
    assert tally_table(found).rows == (
        (
            "which_law",
            "Which law does each form of the penalty obey?",
            "4 of 4",
            "1 of 3",
            "2 without an expected-gradient run",
        ),
        ("budget_and_family", "Too few steps, or too small a family?", "1 of 2", "", ""),
        ("iteration", "Where does a reference re-set each round lead?", "0 of 1", "", ""),
    )


def test_the_record_is_what_figures_read(tmp_path, monkeypatch):
    free = outcome(run=Run("way_back", TASK.name, "none"), found=())
    missed, twin = outcome(ended_at=1), twin_at(1, (0.3, 0.001, 0.1), {"favourite_odds": 0.5})
    runs = results([outcome(), free, missed], {twin.run.id: twin}, {})["runs"]
    wanted = {
        "form": ["k3", "none", "k3"],
        "beta": [0.5, 0, 0.5],
        "full_verdict": ["held", "no law", "missed: validity"],
        "judged": [True, False, True],
        "kl_to_law": [0.001, None, 0.001],
        "law": [TOKEN_FORWARD, None, TOKEN_FORWARD],
        "why_missed": [None, None, TIME],
        "twin_favourite_odds_deviation": [0.5, None, 0.5],
        f"kl {TOKEN_REVERSE}": [0.1, None, 0.1],
    }
    assert {name: runs[name] for name in wanted} == wanted
    at_law = FOUND[0].exact.validity[0]
    assert runs["validity"][0] == runs["law_validity"][0] == pytest.approx(at_law, rel=1e-4)
    monkeypatch.setattr(report, "quick_runs", lambda: [RUN])
    Study(tmp_path).kept.keep("run", RUN.id, outcome())
    told(Asked(tmp_path, quick=True, listed=True, json_path=tmp_path / "laws.json"))
    stored = checked(json.loads((tmp_path / "laws.json").read_text()), KIND)
    assert stored["findings"] == [
        "which_law: 1 of 1 runs converged to their stationary policy; by the nearest policy and the "
        "pass rate alone 1."
    ]


def test_entropy_under_random_rewards_is_told_beside_that_of_samples():
    run = Run("coin", "selection-2", "none", false_positive=0.5, false_negative=0.5)
    outcomes = [outcome(run=replace(run, seed=seed), found=()) for seed in range(2)]
    begun = outcomes[0].course[0].exact.entropy
    ends = tuple(SampledEnd(0.0, 0.0, begun + moved) for moved in (-0.2, -0.1))
    twin = Twin(twin_of(run), FOUND[0].exact, {}, {"validity": 10.0}, sampled=ends)
    assert findings(outcomes, {twin.run.id: twin}) == [
        "coin: within two predicted std of the expected-gradient run 2 of 2 in the pass rate.",
        "coin: entropy moved by +0.0000 +- 0.0000 on selection-2, updates 1; "
        "2 trainings on samples: -0.1500 +- 0.0500.",
    ]
