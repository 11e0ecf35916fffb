import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dph_theory.support.record import as_json, record
from full_scale.evaluation.evaluated_run import (
    KIND,
    EvaluatedSet,
    Evaluation,
    Mean,
    ModelHash,
    PromptAnswers,
    Share,
    Solved,
    Summary,
    against_base,
    summary,
)

ANSWERS = PromptAnswers(id="p0", correct=(1, 0), log_pi=(-1.0, float("-inf")), styles=("a", None))
KEPT = Solved(Share(1.0, None, 1), Share(0.5, 0.1, 2))
SUMMARY = Summary(1, Mean(1.0, None), {"2": Mean(0.5, 0.25)}, None, {}, {"crash": 0.02}, retention=KEPT)
FOUND = Evaluation("run", ModelHash("0"), {"in_domain": EvaluatedSet((ANSWERS,), SUMMARY)}, ModelHash("0"))


def written(folder, results):
    path = folder / "evaluation.json"
    path.write_text(json.dumps(record(KIND, seed=0, config={}, results=results, findings=[])))
    return path


def test_a_file_gives_back_the_evaluation_and_what_is_broken_is_named_by_its_field(tmp_path):
    results = as_json(FOUND)
    assert Evaluation.read(written(tmp_path, results)) == FOUND
    (stored,) = results["sets"]["in_domain"]["prompts"]
    # What a prompt does not have is not stored.
    assert "mean_correct" not in stored
    del stored["correct"]
    with pytest.raises(ValueError, match=r"Evaluation\.sets\.in_domain\..*correct.*required"):
        Evaluation.read(written(tmp_path, results))


def test_findings_say_the_numbers():
    assert FOUND.findings == [
        "run on in_domain (1 prompts): greedy 1.000, Pass@2 0.500 (se 0.250); "
        "retention 0.500 (1 of 2, 95% interval 0.061 to 0.939); "
        "the verifier failed on 2.0% of the samples, which count as incorrect"
    ]
    by = replace(FOUND.sets["in_domain"], match=("bird", "spider"))
    (said,) = replace(FOUND, sets={"dev": by}).findings
    assert said.startswith("run on dev (1 prompts, execution match of bird and spider): greedy")


def prompt(name, greedy, correct, styles=None):
    outcomes = {"correct": sum(correct), "wrong": len(correct) - sum(correct)}
    judged = {"correct": tuple(correct), "styles": tuple(styles or [None] * len(correct))}
    return PromptAnswers(id=name, greedy=greedy, outcomes=outcomes, **judged)


def test_means_and_standard_errors_by_hand():
    first, last = prompt("a", 1, [1, 1, 1, 1], ["x", "x", "y", "y"]), prompt("c", 0, [0, 0, 0, 0])
    found = summary([first, prompt("b", 0, [1, 0, 0, 0], ["x", None, "x", "x"]), last], (1, 2, 4))
    assert found.prompts == 3
    assert (found.greedy.value, found.greedy.standard_error) == pytest.approx((1 / 3, 1 / 3))
    values = {k: mean.value for k, mean in found.pass_at_k.items()}
    assert values == pytest.approx({"1": 1.25 / 3, "2": 1.5 / 3, "4": 2 / 3})
    spread = np.std([1, 0.25, 0], ddof=1) / math.sqrt(3)
    assert found.pass_at_k["1"].standard_error == pytest.approx(spread)
    # log 2 of the first prompt, 0 of the second; the third has no style with a name.
    assert found.style_entropy.value == pytest.approx(math.log(2) / 2)
    assert found.styles == pytest.approx({"x": 5 / 7, "y": 2 / 7})
    assert found.outcomes == pytest.approx({"correct": 5 / 12, "wrong": 7 / 12})


def test_one_prompt_has_no_standard_error_and_without_styles_no_entropy():
    found = summary([prompt("a", 1, [1])], (1,))
    assert (found.pass_at_k["1"], found.style_entropy) == (Mean(1.0, None), None)


def test_retention_and_exploration_by_hand():
    base = [prompt("a", 1, [1, 0]), prompt("b", 1, [0, 0]), prompt("c", 0, [0, 1]), prompt("d", 0, [0, 0])]
    now = [prompt("d", 0, [0, 1]), prompt("a", 0, [1, 1]), prompt("b", 1, [0, 0]), prompt("c", 0, [0, 0])]
    retention, exploration = against_base(now, base)
    assert retention.greedy == Share(0.5, 0.5, prompts=2)
    assert retention.samples.value == 0.5
    assert exploration.greedy.value == 0.0
    assert exploration.samples == Share(0.5, 0.5, prompts=2)
    # A share of no prompt has no value.
    retention, exploration = against_base(*[[prompt("a", 1, [1])]] * 2)
    assert (exploration.greedy, retention.greedy) == (Share(None, None, 0), Share(1.0, None, 1))


def test_bad_input():
    with pytest.raises(ValueError, match="at least one"):
        summary([], (1,))
    with pytest.raises(ValueError, match="prompts that the run's evaluation also contains"):
        against_base([prompt("a", 1, [1])], [prompt("b", 1, [1])])
