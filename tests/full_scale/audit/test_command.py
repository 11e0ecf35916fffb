import json

import pytest
from click.testing import CliRunner

from dph_cli import main


def audited(folder, text, *options):
    path = folder / "config.yaml"
    if text is not None:
        path.write_text(text)
    return CliRunner().invoke(main, ["audit", "trainer", str(path), *options])


def test_the_command_tells_what_the_installed_trainer_descends(tmp_path):
    settings, path = ("loss_type: dapo\nbeta: 0.04\nuse_bias_correction_kl: false\n", tmp_path / "found.json")
    done = audited(tmp_path, f"{settings}model_name_or_path: any\n", "--json", str(path))
    assert done.exit_code == 0, done.output
    printed = " ".join(done.output.split())
    for words in (
        "the reward's policy gradient plus 0.04 times the forward KL(ref||pi) of each token",
        "With a small beta only correct answers remain, not in the base's proportions (small-beta",
        "Advantage: GRPOTrainer at G = 8",
        "Not settings of GRPOConfig: model_name_or_path.",
    ):
        assert words in printed
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert len(done.stdout.splitlines()) <= 20
    assert "it/s" not in done.stderr
    written = json.loads(path.read_text())
    assert written["loss"]["gradient"]["terms"][1] == [pytest.approx(0.04), "forward KL(ref||pi)"]
    assert written["loss"]["selects"] == "small-beta limit of k3"
    assert written["not_read"] == ["model_name_or_path"]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (None, (), "there is no file"),
        ("entropy_coef: 0.01\n", (), "entropy_coef=0.01 is not allowed"),
        # It goes with no other audit.
        ("beta: 0.0\n", ("--page", "x.md"), "No such option"),
    ],
)
def test_what_cannot_be_audited_is_wrong_usage(tmp_path, text, options, message):
    done = audited(tmp_path, text, *options)
    assert done.exit_code == 2
    assert message in done.output
