"""`dph compare` beyond its transcript in the docs: several runs, what it writes, logs, wrong usage."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.sampled_counts import write_rows
from support.small_comparison import written

from dph_theory.checkpoints import Comparison, RunComparison
from dph_theory.checkpoints.cli import compare_command
from dph_theory.support.record import from_json

ROOT = Path(__file__).parents[3]


def run(*words):
    return CliRunner().invoke(compare_command, [*map(str, words)])


def printed(result):
    """What was printed, in one line."""
    return " ".join(result.output.split())


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_what_is_asked_for_is_printed_and_stored(tmp_path):
    words = ["--k", "1,4,16", "--json", tmp_path / "found.json"]
    result = run(*written(tmp_path), *words)
    assert result.exit_code == 0, result.output
    assert "What the change" not in result.output
    stored = json.loads((tmp_path / "found.json").read_text())
    assert (stored["kind"], len(stored["findings"])) == ("compare", 6)
    found = from_json(Comparison, stored["results"]["runs"][0])
    assert found.curves.k == (1, 4, 16)


def test_the_guess_is_printed_for_one_run_and_for_several(tmp_path):
    base, after = written(tmp_path)
    guess = "A uniform guess at 4 possible answers: Pass@1 0.250, Pass@16 0.990."
    for runs in ([after], [after, base]):
        assert guess in run(base, *runs, "--possible-answers", "4").output
    words = printed(CliRunner().invoke(compare_command, ["--help"]))
    assert "the answer space is small and Pass@k measures guessing" in words


def test_a_closed_pipe_ends_the_words_and_not_the_record(tmp_path):
    stored, words = tmp_path / "found.json", [*written(tmp_path), "--json", tmp_path / "found.json"]
    command = [sys.executable, "-m", "dph_cli", "compare", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.close()
    assert json.loads(stored.read_text())["results"]["runs"]


def test_steps_stand_in_one_table_and_one_record(tmp_path):
    base, after = written(tmp_path)
    rows = [row | {"step": step} for step, path in ((10, base), (20, after)) for row in rows_of(path)]
    steps, stored = write_rows(tmp_path / "steps.jsonl", rows), tmp_path / "found.json"
    result = run(base, steps, "--by-step", "--json", stored)
    assert result.exit_code == 0, result.output
    assert "worse: steps.jsonl at 1 of 2 steps, first at 20" in printed(result)
    found = from_json(RunComparison, json.loads(stored.read_text())["results"]["together"])
    assert [one.step for one in found.runs] == [10, 20]


def test_seeds_of_one_file_name_have_names_of_their_own_and_a_record_goes_to_standard_output(tmp_path):
    for seed in "ab":
        (tmp_path / seed).mkdir()
        written(tmp_path / seed)[0].rename(tmp_path / seed / "run.jsonl")
    seeds = [tmp_path / seed / "run.jsonl" for seed in "ab"]
    stored = json.loads(run(written(tmp_path)[0], *seeds, "--mean", "--json", "-").output)["results"]
    assert [one["run"] for one in stored["together"]["runs"]] == ["a/run.jsonl", "b/run.jsonl"]
    assert [one["run"]["name"] for one in stored["runs"]] == ["a/run.jsonl", "b/run.jsonl"]
    assert len(stored["together"]["mean"]) == len(stored["together"]["k"])


def test_how_the_rewards_of_a_log_are_read_is_an_option_and_printed(tmp_path):
    rows = [{"prompt": i, "completion": "", "reward": j / 7} for i in "abc" for j in range(8)]
    path = write_rows(tmp_path / "log.jsonl", [*rows, rows[0] | {"reward": None}])
    out = printed(run(path, path, "--correct-from", "0.5", "--unscored", "wrong", "--all"))
    assert "8 to 9 answers to each; prompts by prompt, correct by reward." in out
    assert "correct from 0.5 on" in out
    assert "1 answers without a reward are counted as incorrect" in out


def test_every_table_is_printed_on_request_and_no_control_character_reaches_the_terminal(tmp_path):
    base, after = written(tmp_path)
    for path in (base, after):
        write_rows(path, [r | {"id": f"\x1b]0;title\x07\x1b[31m{r['id']}\u202e"} for r in rows_of(path)])
    out = run(base, after.rename(tmp_path / "r\x1b[31m.jsonl"), "--all").output
    assert not set(out) & set("\x1b\x07\u202e")
    assert all(
        words in out for words in (r"\x1b]0;title", "Parts of the change of Pass@k", "Further measures")
    )


WRONG, FEW = '{"id": "p0", "n": 4, "c": 5}', '{"id": "p0", "n": 16, "c": 5}\n{"id": "p1", "n": 16, "c": 5}'


@pytest.mark.parametrize(("name", "text", "words", "says"), [
    ("run.jsonl", WRONG, "--json out", "run.jsonl:1: c=5 is not allowed: a whole number"),
    ("base.jsonl", WRONG, "", "base.jsonl:1: c=5 is not allowed"),
    ("run.jsonl", FEW, "", "--allow-missing leaves them out"), ("", "", "--k 0", "whole numbers from 1 on"),
    ("", "", "--group-size 1", "2<=x<=4096"), ("", "", "--possible-answers 1", "x>=2"),
    ("", "", "--min-n 17", "as many answers as some prompt has"), ("", "", "--mean", "two runs or more"),
    ("", "", "--by-step", "a whole number in each row"),
])  # fmt: skip
def test_wrong_usage_is_named_and_writes_nothing(tmp_path, monkeypatch, name, text, words, says):
    monkeypatch.chdir(tmp_path)
    base, after = written(tmp_path)
    after.write_text(base.read_text())
    if name:
        (tmp_path / name).write_text(text)
    result = run(base, after, *words.split())
    assert (result.exit_code, says in printed(result)) == (2, True), printed(result)
    assert not (tmp_path / "out").exists()


def test_a_command_and_two_examples_give_one_answer_on_the_same_files(tmp_path):
    """The band is drawn with one number of draws everywhere, so that no sentence differs between them."""
    words = [str(ROOT / "examples" / "counts" / f"{name}.jsonl") for name in ("base", "grpo")]
    shown = run(*words, "--all").output
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    outputs = [
        subprocess.run(
            [sys.executable, str(ROOT / "examples" / script), *words],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
        ).stdout
        for script in ("two_checkpoints.py", "tour.py")
    ]  # fmt: skip
    sentence = re.search(r"Worse from a k between \d+ and \d+ on\.", shown)[0]
    assert [sentence in output for output in outputs] == [True, True]
    for line in shown.splitlines()[:5]:
        assert all(line in output for output in outputs)
