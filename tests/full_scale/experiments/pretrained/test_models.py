"""Runs of other models: where they are loaded from, and that none of them is taken for the study's own."""

from transformers import AutoModelForCausalLM, AutoTokenizer

from full_scale.experiments.pretrained import taught
from full_scale.experiments.pretrained.anchors import DIGITS
from full_scale.experiments.pretrained.findings import base_of
from full_scale.experiments.pretrained.models import GEMMA, TAUGHT, declared, paths
from full_scale.experiments.pretrained.runs import CoursePoint, FinishedOpenRun, OpenRun, TaskMeasures
from full_scale.experiments.pretrained.transfer import KernelSettings


def test_the_taught_llama_is_made_once_and_the_others_are_loaded_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(taught, "_STEPS", 1)
    first = paths("own", declared(), tmp_path / "bases")
    assert first == {GEMMA: GEMMA, TAUGHT: str(tmp_path / "bases" / TAUGHT), None: "own"}
    written = (tmp_path / "bases" / TAUGHT / "config.json").stat().st_mtime_ns
    assert paths("own", declared(), tmp_path / "bases") == first
    assert (tmp_path / "bases" / TAUGHT / "config.json").stat().st_mtime_ns == written
    assert [*(tmp_path / "bases").iterdir()] == [tmp_path / "bases" / TAUGHT]
    assert len(AutoTokenizer.from_pretrained(first[TAUGHT])("7*8")["input_ids"]) == 3
    assert AutoModelForCausalLM.from_pretrained(first[TAUGHT]).config.hidden_size == 128


def test_a_model_has_a_kernel_of_its_own_and_that_of_the_study_keeps_its_name():
    run = OpenRun("models", DIGITS, "GRPO", seed=0)
    kernels = {
        KernelSettings.of_run(run).digest,
        KernelSettings.of_run(run, "adam").digest,
        KernelSettings.of_run(OpenRun("models", DIGITS, "GRPO", model=GEMMA)).digest,
    }
    assert len(kernels) == 3
    assert KernelSettings.of_run(run).digest == KernelSettings(DIGITS).digest


def test_the_base_is_read_from_runs_of_the_study_s_own_model_alone():
    def finished(model, rate):
        run = OpenRun("models", DIGITS, "GRPO", model=model)
        course = (CoursePoint(0, {DIGITS[0]: TaskMeasures((rate,), 1.0, 0.0)}),)
        return FinishedOpenRun(run, course, {}, 1.0, 1.0)

    base = base_of([finished(None, 0.25), finished(GEMMA, 0.5)])
    assert base[DIGITS[0]].pass_rate == (0.25,)
