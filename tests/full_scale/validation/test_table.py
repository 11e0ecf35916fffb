import json
import math
import shutil
from dataclasses import replace

import numpy as np
import pytest
from support.simulated_runs import Simulated, kl_control, shifted

from dph_theory import pass_at_k
from dph_theory.support.record import from_json
from full_scale.evaluation.evaluated_run import EvaluatedSet, Mean, PromptAnswers, Share, Solved, Summary
from full_scale.validation.table import (
    COLUMNS,
    Column,
    Validation,
    columns,
    difference,
    differences,
    reproduced,
    validate,
)

ALL, NONE = [1] * 8, [0] * 8


def evaluated(correct, styles=("a", "b"), share=1, **summary):
    """An evaluated set: a list of verdicts for each prompt, `share` prompts a question; styles in turn."""
    prompts = tuple(
        PromptAnswers(
            id=f"p{i}",
            question=f"q{i // share}",
            correct=tuple(c),
            styles=tuple(styles[j % len(styles)] for j in range(len(c))),
        )
        for i, c in enumerate(correct)
    )
    kept = Share(0.9, None, 1)
    numbers = {
        "greedy": Mean(0.5, None),
        "pass_at_k": {"1": Mean(0.25, None), "8": Mean(0.75, None)},
        "style_entropy": Mean(1.0, None),
        "retention": Solved(kept, kept),
    }
    known = {"prompts": len(prompts), "styles": {}, "outcomes": {}}
    return EvaluatedSet(prompts, Summary(**known | numbers | summary))


def test_columns_are_means_and_deviations_over_seeds_of_what_is_there():
    seeds = [evaluated([ALL], greedy=Mean(v, None)) for v in (0.2, 0.4, 0.9)]
    # The base has no retention, one seed no deviation, a task without styles no entropy.
    base = evaluated([ALL], style_entropy=None, retention=None)
    found = columns({"GRPO": seeds, "base": [base]}, {"GRPO": [1.0, 2.0, 3.0], "base": [0.0]})
    grpo, base = found["GRPO"], found["base"]
    assert set(grpo) <= set(COLUMNS)
    assert (grpo["greedy"].mean, grpo["greedy"].deviation) == pytest.approx((0.5, math.sqrt(0.13)))
    assert (grpo["excess KL"].mean, grpo["excess KL"].deviation) == (2.0, 1.0)
    assert grpo["Pass@8"].mean == 0.75
    assert base["retention"] == base["style entropy"] == Column(())
    assert (Column(()).mean, Column(()).deviation, base["greedy"].deviation) == (None, None, None)


@pytest.mark.parametrize(
    ("before", "after", "share", "value", "error", "units"),
    [
        # Gaps by seed (0, 0) and (-1, 0): means over questions -.5 and 0, over seeds 0 and -.5.
        ([[ALL, NONE, ALL]], [[ALL, NONE], [NONE, NONE]], 1, -0.25, math.sqrt(0.125 / 2 + 0.125 / 2), 3),
        # One seed has the error of its questions; prompts of one text are one question.
        ([[NONE] * 4], [[ALL, NONE, ALL, ALL]], 1, 0.75, 0.25, 4),
        ([[NONE] * 4], [[ALL, NONE, ALL, ALL]], 2, 0.75, 0.25, 2),
    ],
)
def test_differences_are_taken_question_by_question_and_seed_by_seed(
    before, after, share, value, error, units
):
    sides = ([evaluated(seed, share=share) for seed in side] for side in (before, after))
    found = difference(
        *sides, lambda prompts: [sum(prompt.correct) / len(prompt.correct) for prompt in prompts]
    )
    assert (found.value, found.units) == (value, units)
    assert found.standard_error == pytest.approx(error)


@pytest.mark.parametrize(
    ("grpo", "sign", "counts"), [(ALL, 1, (1, 2, 0)), (NONE, -1, (1, 1, 1)), ([1, 0] * 4, 0, (0, 3, 0))]
)
def test_what_is_told_apart(grpo, sign, counts):
    # Prompts that differ a little, so that the margin is not zero.
    base = [evaluated([[1, 0, 1, 0, 1, 0, 1, 0], [1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 0, 0, 0]] * 9)]
    found = differences({"base": base, "GRPO": [evaluated([grpo] * 27)]})
    (gap,) = [gap for gap in found if gap.measure == "Pass@1"]
    assert (gap.before, gap.after, gap.expected, gap.sign) == ("base", "GRPO", 1, sign)
    # Pass@1, Pass@8, style entropy; only a model that is always wrong loses Pass@8.
    numbers = [int(word) for word in reproduced(found).split() if word.isdigit()]
    assert numbers == [3, *counts]


def test_every_pair_and_its_number():
    base, grpo = [evaluated([ALL, NONE] * 4)], [evaluated([ALL, [1, 0] * 4] * 4, styles=("a",))]
    found = differences({"base": base, "GRPO": grpo, "DPH-F": base})
    gaps = {(gap.measure, gap.before, gap.after): gap for gap in found}
    assert len(gaps) == 3 + 3 + 2
    assert gaps["style entropy", "base", "GRPO"].value == pytest.approx(-math.log(2))
    more = gaps["style entropy", "GRPO", "DPH-F"]
    assert more.sign == more.expected == 1
    assert gaps["style entropy", "base", "DPH-F"].sign == 0
    assert gaps["Pass@8", "base", "GRPO"].value == pytest.approx(float(pass_at_k(8, 4, 8)) / 2)


def simulated(folder, change=None, **training):
    """A run of KL control with what its collapse meter logged."""
    rng = np.random.default_rng(0)
    method = {"name": "KL-control-sequence", "beta": 0.5}
    where = ("in_domain", "explored")
    of = Simulated(kl_control(rng, 150, 0.5), where=where, method=method, training=training)
    return validate([of.write(rng, folder, change)])


METER = {"excess_kl": 0.2, "excess_kl_se": 0.1, "kl": 0.5, "cost": 0.3}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    logged = {"step": 1, "loss": 3.0, **{f"collapse/{key}": value for key, value in METER.items()}}
    return simulated(tmp_path_factory.mktemp("runs"), log=[logged, {"step": 2, "loss": 3.0}])


def test_checks_and_predictions_apart_and_the_meter_along_training(found):
    assert ("in_domain", "excess KL") in {(line.set, line.name) for line in found.checks}
    assert {line.name for line in found.predictions} == {"log odds gain", "KL to the stationary policy"}
    here = found.measured[0]
    assert (here.run, here.set) == ("run-seed0", "in_domain")
    assert here.kl == pytest.approx(here.cost + here.excess, abs=1e-12)
    assert found.training == {"run-seed0": [{"step": 1, **METER}]}


def test_the_record_holds_it_all(found):
    stored = json.loads(json.dumps(found.as_record()))
    again = from_json(Validation, {"runs": stored["config"]["runs"], **stored["results"]})
    assert (again.checks, again.predictions) == (found.checks, found.predictions)
    assert again.measured == found.measured


def test_a_violated_check_is_an_alarm_and_what_is_inconsistent_is_told_once_for_all_runs(found, tmp_path):
    whole, law, *_, judged = found.sentences()
    assert law == "run-seed0: converges to reverse KL of the whole answer, by theory."
    assert "ALARM" not in whole
    assert "2 consistent, 0 inconsistent, 0 not enough" in judged
    assert "Inconsistent" not in judged
    planted = simulated(tmp_path, shifted(1.0))
    whole, *_, judged = replace(planted, predictions=planted.predictions * 2).sentences()
    assert "ALARM, not consistent: excess KL (frontier) of run-seed0 on in_domain" in whole
    assert judged.partition("Inconsistent: ")[2].count("KL to the stationary policy (kl_control; ") == 1


@pytest.mark.parametrize(
    ("where", "method", "says"),
    [
        (("in_domain",), {"name": "KL-control-sequence", "beta": 0.5},
         ["set explored is not evaluated for either"]),
        (("in_domain", "explored"), {"name": "GRPO"},
         ["no stationary policy is predicted, for there is no KL"]),
        (("explored",), {"name": "DPH-F"}, ["set rehearsed is not evaluated for either"]),
    ],
)  # fmt: skip
def test_each_run_says_where_it_converges_or_why_not_and_what_was_not_tested(tmp_path, where, method, says):
    rng = np.random.default_rng(0)
    of = Simulated(kl_control(rng, 60, 0.5), where=where, method=method)
    said = " ".join(validate([of.write(rng, tmp_path)]).sentences())
    assert [words for words in says if words not in said] == []


def test_tables_hold_every_line_as_text(found):
    _, measured, checks, predicted = found.tables()
    assert [row[:2] for row in measured.rows] == [("run-seed0", "in_domain"), ("run-seed0", "explored")]
    assert (len(checks.rows), len(predicted.rows)) == (len(found.checks), len(found.predictions))
    for row, line in zip(checks.rows, found.checks, strict=True):
        shown = row[checks.head.index("margin")]
        # A margin that says nothing is none.
        assert shown == "-" if line.margin > 10 else float(shown) == pytest.approx(line.margin, abs=5e-4)


def test_pass_at_k_is_told_with_bands_over_the_seeds_of_a_run(tmp_path):
    """Two seeds of one run beside their base: means, the band of both, and the base's own."""
    rng = np.random.default_rng(5)
    laws = kl_control(rng, 60, 0.5)
    runs = []
    for seed in (0, 1):
        written = Simulated(laws, samples=8, where=("in_domain",)).write(rng, tmp_path / str(seed))
        runs.append(tmp_path / f"run-seed{seed}")
        shutil.copytree(written, runs[-1])
    shutil.copytree(tmp_path / "0" / "base", tmp_path / "base")
    found = {row.run: row for row in validate(runs).pass_at_k}
    assert {name: row.seeds for name, row in found.items()} == {"base": 1, "run": 2}
    valid = (laws.policy * laws.valid).sum(axis=1)
    for k in (1, 2, 4, 8):
        row = found["run"]
        assert row.value[str(k)] == pytest.approx(np.mean(1 - (1 - valid) ** k), abs=0.06)
        assert 0 < row.margin[str(k)] < 0.15
    assert list(found["run"].value) == ["1", "2", "4", "8"]
    table = validate(runs).tables()[0]
    assert table.head == ("set", "run", "seeds", "prompts", "Pass@1", "Pass@2", "Pass@4", "Pass@8")
    assert [row[:4] for row in table.rows] == [("in_domain", "base", 1, 60), ("in_domain", "run", 2, 60)]
    assert all(" +- " in cell for row in table.rows for cell in row[4:])
