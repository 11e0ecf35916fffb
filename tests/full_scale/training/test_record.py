import json

import pytest

from dph_theory.support.record import checked
from full_scale.training.record import KIND, TrainingRecord

MADE = TrainingRecord(
    config={"seed": 4, "method": {"name": "GRPO"}},
    run="run-seed4",
    method="GRPO",
    arguments={"beta": 0.0},
    log=[{"step": 1, "loss": 0.1}],
    base_rates={"e0": 0.5, "e1": 1.0},
    rehearsed=["e1"],
    explored=["e0"],
    steps=1,
    seconds=None,
    findings=["it ended"],
)


def test_what_is_written_is_read_and_is_a_record_like_others(tmp_path):
    MADE.write(tmp_path / "training.json")
    assert TrainingRecord.read(tmp_path / "training.json") == MADE
    stored = checked(json.loads((tmp_path / "training.json").read_text()), KIND)
    assert (stored["seed"], stored["config"], stored["findings"]) == (4, MADE.config, MADE.findings)
    assert {"torch", "trl", "dph"} <= set(stored["versions"])


def test_a_training_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match=r"training\.json.*dph train writes it"):
        TrainingRecord.read(tmp_path / "training.json")
