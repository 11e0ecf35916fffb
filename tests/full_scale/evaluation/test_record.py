import json

import pytest

from dph_theory.support.frozen import as_json
from dph_theory.support.record import record
from full_scale.evaluation.record import (
    KIND,
    EvaluatedSet,
    Evaluation,
    Mean,
    ModelHash,
    PromptAnswers,
    Share,
    Solved,
    Summary,
)

ANSWERS = PromptAnswers(id="p0", correct=(1, 0), log_pi=(-1.0, float("-inf")), styles=("a", None))
KEPT = Solved(Share(1.0, None, 1), Share(0.5, 0.1, 2))
SUMMARY = Summary(1, Mean(1.0, None), {"2": Mean(0.5, 0.25)}, None, {}, {}, retention=KEPT)
FOUND = Evaluation("run", ModelHash("0"), {"in_domain": EvaluatedSet((ANSWERS,), SUMMARY)})


def written(folder, results):
    made = record(KIND, seed=0, config={}, results=results, findings=[])
    path = folder / "evaluation.json"
    path.write_text(json.dumps(made))
    return path


def test_a_file_gives_back_the_evaluation(tmp_path):
    assert Evaluation.read(written(tmp_path, as_json(FOUND))) == FOUND
    # What a prompt does not have is not stored.
    (stored,) = as_json(FOUND)["sets"]["in_domain"]["prompts"]
    assert "mean_correct" not in stored


def test_a_broken_file_is_named_by_its_field(tmp_path):
    results = as_json(FOUND)
    del results["sets"]["in_domain"]["prompts"][0]["correct"]
    with pytest.raises(ValueError, match=r"Evaluation\.sets\.in_domain\..*correct.*required"):
        Evaluation.read(written(tmp_path, results))


def test_findings_say_the_numbers():
    said = "run on in_domain (1 prompts): greedy 1.000, Pass@2 0.500 (se 0.250); retention 0.500 (se 0.100)"
    assert FOUND.findings == [said]
