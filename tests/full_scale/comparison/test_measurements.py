import json

import numpy as np
import pytest
from support.simulated_runs import Simulated, kl_control

from full_scale.comparison.measurements import paired, read_runs
from full_scale.evaluation.record import PromptAnswers


@pytest.fixture
def run(tmp_path):
    rng = np.random.default_rng(0)
    return Simulated(kl_control(rng, 4, 0.5), samples=6).write(rng, tmp_path)


def entry(name, correct=(1, 0)):
    return PromptAnswers(id=name, correct=tuple(correct), log_pi=(-1.0,) * 2, log_ref=(-2.0,) * 2)


def test_a_run_is_paired_with_its_base(run):
    (found,) = read_runs([run])
    here = found.sets["in_domain"]
    assert here.ids == ("p0", "p1", "p2", "p3")
    assert here.correct.shape == here.log_ratio.shape == here.base_correct.shape == (4, 6)
    stored = json.loads((run.parent / "base" / "evaluation.json").read_text())
    base = [np.mean(p["correct"]) for p in stored["results"]["sets"]["in_domain"]["prompts"]]
    np.testing.assert_array_equal(here.base_rate, base)


def test_the_bases_own_folder_is_left_out(run):
    assert [found.name for found in read_runs([run, run.parent / "base"])] == ["run-seed0"]
    with pytest.raises(ValueError, match="other than the base"):
        read_runs([run.parent / "base"])


def test_no_runs():
    with pytest.raises(ValueError, match="at least one run folder"):
        read_runs([])


@pytest.mark.parametrize(
    ("file", "stage"), [("evaluation.json", "dph evaluate"), ("training.json", "dph train")]
)
def test_a_missing_file_names_the_stage_that_makes_it(run, file, stage):
    (run / file).unlink()
    with pytest.raises(ValueError, match=stage):
        read_runs([run])


def test_a_missing_base(run):
    (run.parent / "base" / "evaluation.json").unlink()
    with pytest.raises(ValueError, match=r"base/evaluation\.json"):
        read_runs([run])


def test_a_record_of_another_kind_and_no_json(run):
    (run / "evaluation.json").write_text((run / "training.json").read_text())
    with pytest.raises(ValueError, match="kind"):
        read_runs([run])
    (run / "evaluation.json").write_text("{")
    with pytest.raises(ValueError, match="a record in JSON"):
        read_runs([run])


def test_pairing_keeps_common_prompts_and_refuses_none():
    found = paired("x", [entry("a"), entry("b")], [entry("b", (1, 1)), entry("c")])
    assert found.ids == ("b",)
    assert found.base_rate == [1.0]
    with pytest.raises(ValueError, match="prompts that the base"):
        paired("x", [entry("a")], [entry("b")])


def test_pairing_refuses_ragged_samples():
    with pytest.raises(ValueError, match="as many samples"):
        paired("x", [entry("a"), entry("b", (1,))], [entry("a"), entry("b")])


def test_the_trainers_arguments_resolve_a_target_validity(tmp_path):
    rng = np.random.default_rng(1)
    method = {"name": "KL-control", "mu": 0.8}
    training = {"base_rates": {"p0": 0.1, "p1": 0.3, "p2": 0.6, "p3": 0.99}, "explored": ["p0", "p1", "p2"]}
    simulated = Simulated(kl_control(rng, 4, 0.5), method=method, training=training)
    (found,) = read_runs([simulated.write(rng, tmp_path)])
    assert found.arguments["beta"] == pytest.approx(0.38622661634118, rel=1e-10)
