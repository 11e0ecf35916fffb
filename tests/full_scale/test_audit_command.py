import json

import pytest
from click.testing import CliRunner

from dph_cli import main


def test_the_command_tells_what_the_installed_trainer_descends(tmp_path):
    path, found = tmp_path / "config.yaml", tmp_path / "found.json"
    path.write_text("loss_type: dapo\nbeta: 0.04\nuse_bias_correction_kl: false\nmodel_name_or_path: any\n")
    done = CliRunner().invoke(main, ["audit", "trainer", str(path), "--json", str(found)])
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "the reward's policy gradient plus 0.04 times the forward KL(ref||pi) of each token" in said
    assert "With a small beta only right answers remain, not in the base's proportions (token forward" in said
    assert "Not settings of GRPOConfig: model_name_or_path." in said
    assert max(map(len, done.stdout.splitlines())) <= 80
    written = json.loads(found.read_text())
    assert written["loss"]["gradient"]["terms"][1] == [pytest.approx(0.04), "forward KL(ref||pi)"]
    assert (written["loss"]["selects"], written["not_read"]) == (
        "token forward limit",
        ["model_name_or_path"],
    )
    assert "Advantage: GRPOTrainer at G = 8" in done.output


def test_it_goes_with_no_other_audit(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("beta: 0.0\n")
    done = CliRunner().invoke(main, ["audit", "trainer", str(path), "--page", "x.md"])
    assert done.exit_code == 2
    assert "No such option" in done.output
    done = CliRunner().invoke(main, ["audit", "trainer", str(tmp_path / "none.yaml")])
    assert done.exit_code == 2
    assert "there is no file" in done.output


def test_a_file_that_cannot_be_audited_is_wrong_usage(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("entropy_coef: 0.01\n")
    done = CliRunner().invoke(main, ["audit", "trainer", str(path)])
    assert done.exit_code == 2
    assert "entropy_coef=0.01 is not allowed" in done.output
