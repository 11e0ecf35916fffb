import json

import pytest
from support.small_confrontation import written

from figures.runs.inputs import read_runs


def test_runs_have_labels_and_logs(tmp_path):
    base, run = written(tmp_path)
    labels = tmp_path / "labels.yaml"
    labels.write_text("run.jsonl: GRPO\n")
    found = read_runs([base, run, run], labels)
    assert list(found.by_label) == ["GRPO"]
    assert len(found.by_label["GRPO"]) == 2
    assert found.base_rates.shape == found.runs[0].rates.shape == (50,)
    assert found.runs[0].log == ()


def test_wrong_labels_and_too_few_runs_are_refused(tmp_path):
    base, run = written(tmp_path)
    labels = tmp_path / "labels.yaml"
    wrong = {"other: x": "one of base.jsonl, run.jsonl", "- a": "a label by name", "{": "YAML"}
    for text, words in wrong.items():
        labels.write_text(text)
        with pytest.raises(ValueError, match=words):
            read_runs([base, run], labels)
    with pytest.raises(ValueError, match="a base and at least one run"):
        read_runs([base])


def test_a_training_log_is_read_from_a_run_folder(tmp_path):
    from figures.runs.inputs import _log

    (tmp_path / "training.json").write_text(json.dumps({"results": {"log": [{"step": 1, "reward": 0.5}]}}))
    assert _log(tmp_path) == ({"step": 1, "reward": 0.5},)
