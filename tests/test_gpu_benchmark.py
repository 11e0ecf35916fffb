"""The run that is prepared for a GPU, on the CPU and on a small Llama with random weights."""

import json
import runpy
import sys
from pathlib import Path

import pytest

from full_scale.experiments.pretrained.open_prompts import TASKS
from full_scale.experiments.pretrained.runs import EXPLORED, HELD_OUT
from full_scale.tasks.llama import random_llama, word_level

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
EVERY = "all last digits"


@pytest.fixture
def model(tmp_path):
    tasks = [TASKS[name + half] for name in (EVERY, EXPLORED) for half in ("", HELD_OUT)]
    words = sorted({word for task in tasks for text in (*task.texts, *task.words) for word in text.split()})
    word_level(["<end>", *words], "<end>", pad_token="<end>", eos_token="<end>").save_pretrained(tmp_path)
    random_llama(0, vocabulary=len(words) + 1, hidden=16, layers=1, heads=2, end=0).save_pretrained(tmp_path)
    return tmp_path


def test_it_runs_on_a_cpu_and_stores_kernel_and_runs_with_config_device_and_versions(
    model, tmp_path, monkeypatch
):
    to = tmp_path / "gpu.json"
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--quick", "--model", str(model), "--to", str(to)])
    runpy.run_path(str(BENCHMARKS / "gpu.py"), run_name="__main__")
    found = json.loads(to.read_text())
    assert found["kernel"]["prompts"] == len(found["kernel"]["rates"]) == 6
    assert len(found["kernel"]["pairs"]) == len(found["kernel"]["k"])
    assert {len(run["anchors"]) for run in found["runs"]} >= {0, 1, 8}
    assert all(run["run"]["anchors"] == len(run["anchors"]) for run in found["runs"])
    assert all(0 <= value <= 1 for run in found["runs"] for value in (*run["trained"], *run["held out"]))
    assert found["config"]["steps"] == 2
    assert {"torch", "transformers"} < found["versions"].keys()
    assert found["device"]
