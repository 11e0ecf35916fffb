import json
import math
import zipfile

import pytest
from support.sampled_counts import write_rows

from dph_theory.counts import read_counts, read_steps


def counts(read):
    return {key: (r.n, r.c) for key, r in read.rows.items()}


def sample(name, epoch, value, answer=None, scorer="match"):
    return {"id": name, "epoch": epoch, "scores": {scorer: {"value": value, "answer": answer}}}


SAMPLES = [
    sample("q", 1, "C", "4"),
    sample("q", 2, "I", "5"),
    sample("q", 3, "C", "4"),
    sample(7, 1, 1.0, "x"),
]


def archive(path, samples, name="summaries.json"):
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(name, json.dumps(samples))
    return path


def test_both_forms_of_a_log_of_inspect_are_counted_with_its_epochs_as_answers(tmp_path):
    (tmp_path / "log.json").write_text(json.dumps({"version": 2, "samples": SAMPLES}))
    for path in (tmp_path / "log.json", archive(tmp_path / "log.eval", SAMPLES)):
        read = read_counts(path, "inspect")
        assert counts(read) == {"q": (3, 2), "7": (1, 1)}
        assert read.rows["q"].votes == ((1, 0), (2, 2))


def test_of_several_scorers_one_is_named_and_a_sample_without_a_score_is_told(tmp_path):
    two = sample("q", 1, "C") | {"scores": {"a": {"value": "C"}, "b": {"value": "I"}}}
    path = archive(
        tmp_path / "log.eval",
        [two, {"id": "r", "epoch": 1, "scores": {}, "error": {"message": "time limit" * 50}}],
    )
    with pytest.raises(ValueError, match=r"log.eval:1: reward=\['a', 'b'\] is not allowed: one column"):
        read_counts(path, "inspect")
    with pytest.raises(ValueError, match=r"log.eval:2: sample='r' is not allowed: .*time limit"):
        read_counts(path, "inspect", reward="b")
    assert counts(read_counts(archive(path, [two]), "inspect", reward="b")) == {"q": (1, 0)}


def test_an_archive_that_cannot_be_read_says_how_to_convert_it(tmp_path):
    with pytest.raises(ValueError, match="inspect log convert"):
        read_counts(archive(tmp_path / "unfinished.eval", [], "header.json"), "inspect")
    (tmp_path / "text.eval").write_text("text")
    with pytest.raises(ValueError, match="a finished log of Inspect"):
        read_counts(tmp_path / "text.eval", "inspect")


def harness(doc, form, **metrics):
    return {"doc_id": doc, "filter": form, "metrics": [*metrics], "resps": [["a", "b", "c", "d"]]} | metrics


def test_a_metric_of_lm_eval_is_named_with_its_filter(tmp_path):
    rows = [
        harness(doc, form, exact_match=float(form == "strict" and doc == 1))
        for doc in (1, 2)
        for form in ("strict", "loose")
    ]
    path = write_rows(tmp_path / "samples_task.jsonl", rows)
    assert counts(read_counts(path, "lm-eval", reward="exact_match,strict")) == {"1": (1, 1), "2": (1, 0)}
    with pytest.raises(ValueError, match="a metric with its filter, such as exact_match,strict"):
        read_counts(path, "lm-eval")
    with pytest.raises(ValueError, match="at least one row"):
        read_counts(path, "lm-eval", reward="exact_match,absent")
    with pytest.raises(ValueError, match="one of exact_match,strict"):
        read_counts(path, "lm-eval", reward="f1,strict")


def test_a_metric_without_a_filter_needs_none_named(tmp_path):
    path = write_rows(tmp_path / "samples_plain.jsonl", [harness(1, "none", acc=1.0, f1=0.0)])
    for name in ("acc", "acc,none"):
        assert counts(read_counts(path, "lm-eval", reward=name)) == {"1": (1, 1)}
    path = write_rows(tmp_path / "samples_two.jsonl", [harness(1, "strict", exact_match=1.0)])
    with pytest.raises(ValueError, match="reward='exact_match' is not allowed: a metric with its filter"):
        read_counts(path, "lm-eval", reward="exact_match")


@pytest.mark.parametrize("whose", ["lm-eval", "inspect"])
def test_a_folder_of_several_tasks_is_not_taken_for_steps(tmp_path, whose):
    write_rows(tmp_path / "samples_gsm8k_2026-01-01.jsonl", [harness(1, "none", acc=1.0)])
    for read in (read_counts, read_steps):
        with pytest.raises(ValueError, match="its folders may hold several tasks"):
            read(tmp_path, whose)


def test_a_completion_that_reads_as_a_number_is_no_reward(tmp_path):
    (tmp_path / "completions.csv").write_text("step,prompt,completion,correct,advantage\n5,1+1,2,1.0,0.7\n")
    assert counts(read_counts(tmp_path / "completions.csv", "trl")) == {"1+1": (1, 1)}


def test_the_mean_of_repeats_counts_them_all(tmp_path):
    path = write_rows(tmp_path / "samples_code.jsonl", [harness(3, "none", **{"pass@1": 0.75})])
    assert counts(read_counts(path, "lm-eval")) == {"3": (4, 3)}
    path = write_rows(tmp_path / "samples_one.jsonl", [harness(3, "none", acc=1.0)])
    assert counts(read_counts(path, "lm-eval")) == {"3": (1, 1)}


def test_a_table_that_wandb_exports_is_a_log(tmp_path):
    columns = ["step", "prompt", "completion", "correct", "advantage"]
    data = [[5, "1+1", "2", 1.0, 0.7], [5, "1+1", "3", 0.0, -0.7], [6, "1+1", "2", 1.0, 0.0]]
    path = tmp_path / "completions.table.json"
    path.write_text(json.dumps({"columns": columns, "data": data}))
    assert counts(read_counts(path, "trl")) == {"1+1": (3, 2)}
    steps = read_steps(path, "trl")
    assert {step: counts(read) for step, read in steps.items()} == {5: {"1+1": (2, 1)}, 6: {"1+1": (1, 1)}}
    path.write_text("[1]")
    with pytest.raises(ValueError, match=r"table.json:1: row=1 is not allowed"):
        read_counts(path, "trl")


@pytest.mark.parametrize("text", ['[{"id": "a", "n": 4, "c": 1}]', '{"id": "a", "n": 4, "c": 1}\n'])
def test_rows_in_a_json_file_are_an_array_or_lines(tmp_path, text):
    (tmp_path / "counts.json").write_text(text)
    assert counts(read_counts(tmp_path / "counts.json")) == {"a": (4, 1)}


def test_the_answers_of_verl_are_votes_where_all_are_given(tmp_path):
    rows = [{"input": "q", "score": float(said == "4"), "pred": said} for said in ("4", "4", "5")]
    path = write_rows(tmp_path / "1.jsonl", rows)
    assert read_counts(path, "verl").rows["q"].votes == ((1, 0), (2, 2))
    write_rows(path, [*rows, {"input": "q", "score": 0.0, "pred": None}])
    assert read_counts(path, "verl").rows["q"].votes is None
    # Not a number is none.
    write_rows(path, [{"input": "q", "score": math.nan}])
    with pytest.raises(ValueError, match="reward='score'"):
        read_counts(path, "verl")


def test_steps_are_rows_with_a_step_or_files_of_a_folder(tmp_path):
    rows = [{"id": "a", "n": 4, "c": c, "step": 10 * c} for c in (2, 1)]
    found = read_steps(write_rows(tmp_path / "run.jsonl", rows))
    assert {step: counts(read) for step, read in found.items()} == {10: {"a": (4, 1)}, 20: {"a": (4, 2)}}
    assert found[20].source.endswith("run.jsonl, step 20")
    folder = tmp_path / "validation"
    folder.mkdir()
    for step in (9, 10):
        write_rows(folder / f"{step}.jsonl", [{"input": "q", "score": float(step == 10)}])
    assert [*read_steps(folder, "verl")] == [9, 10]
    with pytest.raises(
        ValueError, match=r"run.jsonl:2: step=None is not allowed: a whole number in each row"
    ):
        read_steps(write_rows(tmp_path / "run.jsonl", [rows[0], {"id": "a", "n": 4, "c": 1}]))
