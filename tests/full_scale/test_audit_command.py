import json

import pytest
from click.testing import CliRunner

from dph_cli import main


def test_the_command_tells_what_the_installed_trainer_descends(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("loss_type: dapo\nbeta: 0.04\nuse_bias_correction_kl: false\nmodel_name_or_path: any\n")
    done = CliRunner().invoke(main, ["audit", "--trl", str(path)])
    assert done.exit_code == 0, done.output
    assert "minus expected reward + 0.04 FORWARD KL(ref||pi), exactly" in done.output
    assert "law of training: each token; selects as its coefficient falls: token forward limit" in done.output
    assert "not read: model_name_or_path" in done.output


def test_its_findings_are_written_as_json(tmp_path):
    path, found = tmp_path / "config.yaml", tmp_path / "found.json"
    path.write_text("loss_type: dr_grpo\nbeta: 0.0\nmax_completion_length: 4\nlora_r: 8\n")
    done = CliRunner().invoke(main, ["audit", "--trl", str(path), "--json", str(found)])
    assert done.exit_code == 0, done.output
    written = json.loads(found.read_text())
    assert written["sequence_gradient"]["name"] == "minus expected reward"
    assert written["sequence_gradient"]["constant"] == pytest.approx(0.25)
    assert written["not_read"] == ["lora_r"]


def test_it_goes_with_no_other_audit(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("beta: 0.0\n")
    done = CliRunner().invoke(main, ["audit", "--trl", str(path), "--catalogue"])
    assert done.exit_code == 2
    assert "--trl goes with --samples, --seed and --json alone" in done.output
    done = CliRunner().invoke(main, ["audit", "--trl", str(tmp_path / "none.yaml")])
    assert done.exit_code == 2
    assert "there is no file" in done.output


def test_a_file_that_cannot_be_audited_is_wrong_usage(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("entropy_coef: 0.01\n")
    done = CliRunner().invoke(main, ["audit", "--trl", str(path)])
    assert done.exit_code == 2
    assert "entropy_coef=0.01 is not allowed" in done.output
