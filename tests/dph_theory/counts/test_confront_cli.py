import json

import pytest
from click.testing import CliRunner
from support.sampled_counts import write_rows
from support.small_confrontation import written

from dph_theory.counts import Confrontation, Together
from dph_theory.counts.cli import confront_command
from dph_theory.support.record import from_json
from figures.confront import FolderWriter

QUICK = ("--draws", "20")


def run(*words):
    return CliRunner().invoke(confront_command, [str(word) for word in words], obj=lambda: FolderWriter)


def test_counts_become_words_tables_a_record_a_sheet_and_a_page(tmp_path):
    base, after = written(tmp_path)
    out = tmp_path / "out"
    words = [base, after, *QUICK, "--k", "1,4,16", "--power", "0.1", "--power", "0.1@4", "--folder", out]
    words += ["--format", "svg"]
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert result.output.startswith("run.jsonl against base.jsonl: 50 prompts, 16 answers to each.\n")
    assert all(len(line) <= 80 for line in result.output.splitlines() if out.as_posix() not in line)
    assert "What the change" not in result.output
    assert "To tell a difference of 0.1 in Pass@4" in result.output
    everything = run(base, after, *QUICK, "--all").output
    assert "What the change of Pass@k is made of" in everything
    assert "Laws of training" in everything
    names = ("change_parts", "keep_and_explore", "laws", "pass_at_k")
    drawn = {f"{name}.{form}" for name in names for form in ("caption.tex", "svg")}
    assert {path.name for path in out.iterdir()} == drawn | {"confront.json", "index.html"}
    stored = json.loads((out / "confront.json").read_text())
    assert stored["kind"] == "confront"
    assert len(stored["findings"]) == 5
    found = from_json(Confrontation, stored["results"]["runs"][0])
    assert found.curves.k == (1, 4, 16)
    assert {line.k for line in found.needed} == {1, 4}


def test_json_alone_goes_to_standard_output(tmp_path):
    base, after = written(tmp_path)
    result = run(base, after, *QUICK, "--json", "-")
    assert json.loads(result.output)["kind"] == "confront"


def test_what_cannot_be_read_or_paired_is_named_and_writes_nothing(tmp_path):
    base, _ = written(tmp_path)
    wrong = write_rows(tmp_path / "wrong.jsonl", [{"id": "p0", "n": 4, "c": 5}])
    result = run(base, wrong, "--folder", tmp_path / "out")
    assert result.exit_code == 2
    assert "wrong.jsonl:1: c=5 is not allowed: a whole number, at most n = 4" in result.output
    few = write_rows(tmp_path / "few.jsonl", [{"id": "p0", "n": 16, "c": 5}, {"id": "p1", "n": 16, "c": 5}])
    assert "--allow-missing leaves them out" in run(base, few).output
    assert run(base, few, "--k", "0").exit_code == 2
    assert not (tmp_path / "out").exists()


def test_steps_and_seeds_stand_in_one_table_one_record_and_one_drawing(tmp_path):
    base, after = written(tmp_path)
    rows = [json.loads(line) for line in after.read_text().splitlines()]
    steps = write_rows(tmp_path / "steps.jsonl", [row | {"step": s} for s in (10, 20) for row in rows])
    out = tmp_path / "out"
    result = run(
        base, steps, "--steps", "--draws", "400", "--beyond", "64", "--folder", out, "--format", "svg"
    )
    assert result.exit_code == 0, result.output
    assert "steps.jsonl, step 20 against base.jsonl: 50 prompts" in result.output
    assert "worse: steps.jsonl at 2 of 2 steps, first at 10" in result.output.replace("\n", " ")
    assert "Pass@64 by a" in result.output
    assert (out / "along_steps.svg").is_file()
    assert "All together" in (out / "index.html").read_text()
    found = from_json(Together, json.loads((out / "confront.json").read_text())["results"]["together"])
    assert [one.step for one in found.runs] == [10, 20]
    assert "mean of 2 seeds" in run(base, after, after, "--seeds", *QUICK).output
    assert run(base, after, "--seeds", *QUICK).exit_code == 2
    assert run(base, after, "--steps", *QUICK).exit_code == 2


def test_seeds_of_one_file_name_in_folders_are_told_apart(tmp_path):
    for seed in "ab":
        (tmp_path / seed).mkdir()
        base, after = written(tmp_path / seed)
    result = run(base, tmp_path / "a" / "run.jsonl", after, "--seeds", *QUICK, "--json", "-")
    stored = json.loads(result.output)["results"]
    assert [one["run"] for one in stored["together"]["runs"]] == ["a/run.jsonl", "b/run.jsonl"]
    assert [one["run"]["name"] for one in stored["runs"]] == ["a/run.jsonl", "b/run.jsonl"]


def test_rewards_that_are_no_verdicts_are_shown_and_refused(tmp_path):
    rows = [{"prompt": f"{i}", "completion": "", "reward": j / 7} for i in range(6) for j in range(8)]
    path = write_rows(tmp_path / "log.jsonl", rows)
    result = run(path, path)
    assert result.exit_code == 2
    assert "1: 8 values' is not allowed: of two values at most, the greater 1" in result.output.replace(
        "\n", " "
    )
    assert "--correct-from" in result.output
    told = run(path, path, "--correct-from", "0.5", *QUICK).output
    assert "right from 0.5 on" in told.replace("\n", " ")
    write_rows(path, [*rows, rows[0] | {"reward": None}])
    assert "lines 49 have none" in run(path, path, "--correct-from", "0.5").output.replace("\n", " ")
    told = run(path, path, "--correct-from", "0.5", "--unscored", "wrong", *QUICK).output
    assert "1 answers without a reward are counted as wrong" in told.replace("\n", " ")


def test_no_control_character_reaches_the_terminal(tmp_path):
    base, after = written(tmp_path)
    for path in (base, after):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        write_rows(path, [row | {"id": f"\x1b]0;title\x07\x1b[31m{row['id']}\u202e"} for row in rows])
    bad = after.rename(tmp_path / "r\x1b[31m.jsonl")
    out = run(base, bad, *QUICK, "--all").output
    assert not set(out) & set("\x1b\x07\u202e")
    assert r"\x1b]0;title" in out


@pytest.mark.parametrize(
    "words",
    ["--power 0", "--power 0.1@x", "--power 0.1@17", "--group-size 1", "--format exe --folder out",
     "--group-size 99999999999", "--min-n 17"],
)  # fmt: skip
def test_wrong_usage_is_told(tmp_path, words):
    assert run(*written(tmp_path), *words.split()).exit_code == 2


def test_labels_are_of_files_that_are_there_and_tell_them_apart(tmp_path):
    labels = tmp_path / "labels.yaml"
    for text, says in (
        ("other.jsonl: x", "labels='other.jsonl' is not allowed: one of base.jsonl, run.jsonl"),
        ("base.jsonl: x\nrun.jsonl: x", "a label of its own for each file"),
    ):
        labels.write_text(text)
        result = run(*written(tmp_path), "--labels", labels)
        assert result.exit_code == 2
        assert says in " ".join(result.output.split())
