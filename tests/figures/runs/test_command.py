from click.testing import CliRunner
from support.small_confrontation import written

from figures.cli import figures_command


def run(*words):
    return CliRunner().invoke(figures_command, [str(word) for word in words])


def test_the_plates_of_ones_own_runs_and_their_aggregates(tmp_path):
    base, after = written(tmp_path)
    out = tmp_path / "out"
    result = run("--runs", base, after, after, "--folder", out, "--format", "svg")
    assert result.exit_code == 0, result.output
    names = {"pass_at_k", "keep_and_explore", "laws", "theory_against_training", "profiles"}
    assert {path.stem.removeprefix("runs_") for path in out.iterdir()} == names
    assert "runs_styles: the runs hold nothing of it" in result.output
    assert "interquartile mean" in result.output


def test_a_base_alone_is_refused(tmp_path):
    base, _ = written(tmp_path)
    result = run("--runs", base)
    assert result.exit_code == 2
    assert "a base and at least one run" in result.output
