import json
from dataclasses import replace

import pytest
from support.untrained_runs import PREDICTED, RUN, TASK, expected_at, outcome

from dph_theory.support.record import checked
from full_scale.experiments.runner import RunStore, StudyOptions, run_study
from full_scale.experiments.small_llama.finished_runs import NO_EXPECTED_GRADIENT, TIME
from full_scale.experiments.small_llama.report import Tally, results, tallies, tally_table
from full_scale.experiments.small_llama.runs import TOKEN_FORWARD, TOKEN_REVERSE, LlamaRun
from full_scale.experiments.small_llama.study import STUDY

SHORT = LlamaRun("budget_and_family", TASK.name, "sequence_kl", 0.5)
FREE = LlamaRun("which_policy", TASK.name, "none")


def test_the_tally_counts_runs_that_were_meant_to_converge():
    done = [
        outcome(),
        outcome(kl=(0.071, 0.2, 0.1)),
        outcome(ended_at=1),
        outcome(run=FREE, predicted=()),
        outcome(run=SHORT),
    ]
    declared = [*(finished.run for finished in done), SHORT, LlamaRun("limits", TASK.name, "none")]
    counts = tallies(declared, done, {})
    assert counts[0] == Tally(
        "which_policy", 4, 4, 3, matched=1, matched_but_for_answers=2, missed_by={NO_EXPECTED_GRADIENT: 2}
    )
    assert tally_table(counts).rows == (
        (
            "which_policy",
            "Which policy does each form of the penalty lead to?",
            "4 of 4",
            "1 of 3",
            "2 without an expected-gradient run",
        ),
        ("budget_and_family", "Too few steps, or too small a family?", "1 of 2", "", ""),
        ("limits", "What does each form select as beta falls?", "0 of 1", "", ""),
    )


def test_the_record_is_what_figures_read(tmp_path):
    free = outcome(run=LlamaRun("drift", TASK.name, "none"), predicted=())
    missed, expected = outcome(ended_at=1), expected_at(1, (0.3, 0.001, 0.1), {"favourite_odds": 0.5})
    runs = results([outcome(), free, missed], {expected.run.id: expected})["runs"]
    wanted = {
        "form": ["k3", "none", "k3"],
        "beta": [0.5, 0, 0.5],
        "verdict": ["matched", "no prediction", "missed: pass rate"],
        "judged": [True, False, True],
        "kl_to_prediction": [0.001, None, 0.001],
        "predicted": [TOKEN_FORWARD, None, TOKEN_FORWARD],
        "why_missed": [None, None, TIME],
        "odds_deviation": [0.5, None, 0.5],
        f"kl {TOKEN_REVERSE}": [0.1, None, 0.1],
    }
    assert {name: runs[name] for name in wanted} == wanted
    rate = PREDICTED[0].exact.pass_rate[0]
    assert runs["pass_rate"][0] == runs["predicted_pass_rate"][0] == pytest.approx(rate, rel=1e-4)
    RunStore(tmp_path / STUDY.name, STUDY.identity(None)).write("run", RUN.id, outcome())
    quick = replace(STUDY, quick=lambda: [RUN])
    run_study(quick, StudyOptions(tmp_path, quick=True, listed=True, json_path=tmp_path / "laws.json"))
    stored = checked(json.loads((tmp_path / "laws.json").read_text()), STUDY.kind)
    assert stored["findings"] == [
        "which_policy: 1 of 1 runs converged to their stationary policy; by the nearest policy and the "
        "pass rate alone 1."
    ]
