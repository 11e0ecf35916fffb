import json

from click.testing import CliRunner

from full_scale.training.cli import watch_command


def test_watch_shows_a_run_and_draws_it(tmp_path):
    watched = CliRunner().invoke(watch_command, [str(tmp_path)])
    assert watched.exit_code == 1
    assert "has no line yet" in watched.output
    lines = [json.dumps({"step": i, "reward": i / 4, "loss": 0.1}) for i in (1, 2, 3)]
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    watched = CliRunner().invoke(watch_command, [str(tmp_path), "--out", str(tmp_path / "c.svg")])
    assert watched.exit_code == 0, watched.output
    for words in ("step 3", "reward", "0.75", "█"):
        assert words in watched.output
    assert (tmp_path / "c.svg").is_file()
    other = CliRunner().invoke(watch_command, [str(tmp_path), "--curve", "kl"])
    assert other.exit_code == 1
    assert "one of ['loss', 'reward', 'step']" in other.output
