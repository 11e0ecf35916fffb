import hashlib
import re

from click.testing import CliRunner
from support.small_confrontation import written

from figures.cli import figures_command


def run(*words):
    return CliRunner().invoke(figures_command, [str(word) for word in words])


def test_the_figures_of_ones_own_runs_come_with_all_that_a_paper_takes(tmp_path):
    base, after = written(tmp_path)
    out, tables, macros = tmp_path / "out", tmp_path / "tables", tmp_path / "numbers.tex"
    words = ("--folder", out, "--tables", tables, "--macros", macros, "--venue", "icml")
    labels = tmp_path / "labels.yaml"
    labels.write_text("run.jsonl: run\n")
    result = run("--runs", base, after, after, *words, "--format", "pdf", "--labels", labels)
    assert result.exit_code == 0, result.output
    names = {"pass_at_k", "keep_and_explore", "laws", "profiles"}
    files = {f"runs_{name}.{suffix}" for name in names for suffix in ("pdf", "caption.tex")}
    assert {path.name for path in out.iterdir()} == files
    assert {path.stem.removeprefix("runs_") for path in tables.iterdir()} == names | {"aggregates"}
    assert "runs_styles: the runs hold nothing of it" in result.output
    assert "interquartile mean" in result.output
    for path in (base, after):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        name = "run.jsonl, 1" if path == after else path.name
        assert f"{name} sha256:{digest}".encode() in (out / "runs_laws.pdf").read_bytes()
    caption = (out / "runs_laws.caption.tex").read_text()
    assert "50 prompts, 16 answers to each. Runs of one name are seeds (run 2)" in caption
    made = macros.read_text()
    assert made.startswith("% dph figures --runs base.jsonl run.jsonl run.jsonl\n")
    commands = re.findall(r"newcommand{(.*?)}", made)
    assert len(commands) == len(set(commands)) > 50
    assert r"\dphRunsAggregatesRunInterquartileMeanOfPassRatesHigh" in commands


def test_a_base_alone_is_refused(tmp_path):
    base, _ = written(tmp_path)
    result = run("--runs", base)
    assert result.exit_code == 2
    assert "a base and at least one run" in result.output
