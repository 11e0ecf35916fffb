"""Evaluations' records and trainers' logs as they are written: what is read unasked, or by one option."""

# ruff: noqa: E501, a case takes a line.

import json
import re
import shlex
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from dph_theory.checkpoints import read_counts
from dph_theory.checkpoints.cli import compare_command
from dph_theory.predict.cli import predict_command
from dph_theory.support.terminal import COUNTS_OPTIONS

ROWS = [("a", [1, 0, 1, 0]), ("b", [0, 0, 0, 1])]
ALL = [(prompt, place, right) for prompt, row in ROWS for place, right in enumerate(row)]
FOUR, FIRST = [(4, 1), (4, 2)], [(1, 0), (1, 1)]
# fmt: off
X4 = ["x"] * 4
INSPECT = [{"id": i, "epoch": e, "scores": {"maths": {"value": "IC"[s], "answer": "3"}}} for i, e, s in ALL]


def harness(i, form, resps=1, **metrics):
    return {"doc_id": i, "resps": [["x"] * resps], "filtered_resps": ["3"], "filter": form, "metrics": [*metrics], **metrics}


def shape(name, content, counts=FOUR, verdict=None, option=""):
    return pytest.param(name, content, counts, verdict, option, id=option and f"{name}, {option}")


SHAPES = [
    shape("lmeval_gsm8k.jsonl", [harness(i, f, exact_match=float(r[at])) for i, r in ROWS for at, f in enumerate(("strict", "loose"))], FIRST, "exact_match,strict", "--correct exact_match,strict"),
    shape("lmeval_maj.jsonl", [harness(i, f, 4, exact_match=float(r[0] if f == "first" else 1)) for i, r in ROWS for f in ("first", "maj@4", "maj@2")], FIRST, "exact_match,first"),
    shape("lmeval_humaneval.jsonl", [harness(i, "f", 4, **{"pass@1": sum(r) / 4, "pass@2": 0.9, "pass@4": 1.0}) for i, r in ROWS], FOUR, "pass@1,f"),
    shape("lighteval.parquet", [{"doc": {"id": i, "query": "q", "choices": ["3"]}, "metric": {"pass@k:k=1&n=4": sum(r) / 4, "avg@n:n=4": sum(r) / 4, "pass@k:k=2&n=4": 1.0}, "model_response": {"text": X4}} for i, r in ROWS], FOUR, "pass@k:k=1&n=4"),
    shape("lighteval_old.parquet", [{"__doc__": {"id": i}, "__metric__": {"extractive_match": float(r[0])}, "__model_response__": {"text": ["x"]}} for i, r in ROWS], FIRST, "extractive_match"),
    shape("bigmath.parquet", [{"problem": i, "answer": "3", "domain": ["Algebra"], "llama8b_solve_rate": sum(r) / 4} for i, r in ROWS], FOUR, "llama8b_solve_rate", "--n 4"),
    shape("verl.jsonl", [{"input": i, "output": "x", "gts": "3", "score": 2.0 * s - 1, "step": 0, "acc": bool(s), "pred": "3"} for i, _, s in ALL], FOUR, "acc"),
    shape("verl_least.jsonl", [{"input": i, "output": "x", "score": float(s)} for i, _, s in ALL], FOUR, "score"),
    shape("verl_shaped.jsonl", [{"input": i, "output": "x", "score": s or 0.1 * (e == 1)} for i, e, s in ALL], FOUR, "score", "--correct-from 1"),
    shape("openrlhf.jsonl", [{"input": i, "output": "x", "reward": float(s)} for i, _, s in ALL], FOUR, "reward"),
    shape("openrlhf_list.jsonl", [{"input": i, "output": X4, "reward": [*map(float, r)]} for i, r in ROWS], FOUR, "reward"),
    shape("inspect.json", {"version": 2, "eval": {"task": "t", "config": {"epochs": 4}}, "samples": INSPECT}, FOUR, "maths"),
    shape("inspect.eval", {f"samples/{s['id']}_epoch_{s['epoch']}.json": s for s in INSPECT} | {"header.json": {}}, FOUR, "maths"),
    shape("evalchemy.json", {"results": {"AIME24": {"num_repeat": 4, "examples": [{"id": i, "problem": i, "answer": "3", "model_outputs": X4, "model_answers": ["43"[s] for s in r], "label": 1} for i, r in ROWS]}}}, FOUR, "model_answers=answer"),
    shape("simpleevals.json", {"score": 0.3, "metrics": {}, "htmls": [f"<p>Extracted Answer: 3</p><p>Score: {s:.1f}</p>" for _, _, s in ALL], "convos": [[{"content": i, "role": "user"}, {"content": "x", "role": "assistant"}] for i, _, _ in ALL]}),
    shape("oaievals.jsonl", [{"spec": {}}, *({"sample_id": i, "event_id": e, "type": "match", "data": {"correct": bool(s), "picked": "3"}} for i, e, s in ALL), {"final_report": {"accuracy": 0.3}}], FOUR, "correct"),
    shape("bigcodebench.json", {"date": "2026", "eval": {i: [{"task_id": i, "solution": "x", "status": "pass" if s else "timeout", "details": {}} for s in r] for i, r in ROWS}}, FOUR, "status"),
    shape("evalplus.json", {"eval": {i: [{"task_id": i, "solution": "x", "base_status": "pass", "plus_status": "pass" if s else "fail"} for s in r] for i, r in ROWS}}, [(4, 4), (4, 4)], "base_status", "--correct base_status"),
    shape("lcb.json", [{"question_title": "t", "question_id": i, "code_list": X4, "output_list": X4, "graded_list": [*map(bool, r)], "pass@1": sum(r) / 4} for i, r in ROWS], FOUR, "graded_list"),
    shape("swebench.json", {"total_instances": 2, "resolved_ids": ["a"], "unresolved_ids": [], "error_ids": ["b"], "empty_patch_ids": [], "schema_version": 2}, FIRST, "resolved"),
    shape("swebench_rows.jsonl", [{"instance_id": i, "run": e, "resolved": bool(s)} for i, e, s in ALL], FOUR, "resolved"),
    shape("passrate.jsonl", [{"problem": i, "answer": "3", "pass_rate": sum(r) / 4} for i, r in ROWS], FOUR, "pass_rate", "--n 4"),
    shape("passrate_n.jsonl", [{"problem": i, "answer": "3", "pass_rate": sum(r) / 4, "num_samples": 4} for i, r in ROWS], FOUR, "pass_rate"),
    shape("polaris.jsonl", [{"problem": i, "answer": "3/4", "difficulty": f"{sum(r)}/4"} for i, r in ROWS], FOUR, "difficulty"),
    shape("verifiers.jsonl", [{"example_id": e, "prompt": [{"role": "user", "content": i}], "completion": [{"role": "assistant", "content": "x"}], "answer": "3", "reward": float(s), "format_reward": 1.0, "total_ms": 2.0} for i, e, s in ALL], FOUR, "reward"),
    shape("skyrl.jsonl", [{"input_prompt": i, "output_response": "x", "score": [0.0, 0.0, float(s)], "stop_reason": "stop"} for i, _, s in ALL], FOUR, "score"),
    shape("swift.jsonl", [{"gen_step": 1, "prompt": [i] * 4, "completion": X4, "MathAccuracy": [*map(float, r)], "Format": [1.0] * 4, "advantages": [0.0] * 4} for i, r in ROWS], FOUR, "MathAccuracy"),
    shape("areal.jsonl", [{"task_id": i, "sample_idx": e, "seqlen": 10, "head_version": 0, "reward": float(s), "prompt": i, "completion": "x"} for i, e, s in ALL], FOUR, "reward"),
    shape("opencompass.json", {"accuracy": 30.0, "details": {i: {"prompt": "q", "predictions": "3", "references": "3", "correct": bool(r[0])} for i, r in ROWS} | {"type": "GEN"}}, FIRST, "correct"),
    shape("seeds", {f"seeds/samples_aime_2026-01-0{e + 1}.jsonl": [harness(i, "none", acc=float(r[e])) for i, r in ROWS] for e in range(4)}, FOUR, "acc,none"),
    shape("wide.csv", "problem_id,sample_0,sample_1,sample_2,sample_3\n" + "".join(f"{i},{','.join(map(str, r))}\n" for i, r in ROWS), FOUR, "sample"),
    shape("counts.jsonl", [{"id": i, "n": 4, "c": sum(r)} for i, r in ROWS], FOUR, ""),
    shape("human_eval.jsonl", [{"task_id": i, "completion": "x", "result": "passed", "passed": bool(s)} for i, _, s in ALL], FOUR, "passed"),
    shape("qwen_math.jsonl", [{"idx": 0, "question": i, "answer": "4", "pred": X4, "score": [*map(bool, r)]} for i, r in ROWS], FOUR, "score"),
    shape("openr1.jsonl", [{"uuid": i, "problem": i, "generations": X4, "correctness_math_verify": [*map(bool, r)]} for i, r in ROWS], FOUR, "correctness_math_verify"),
    shape("nemo.jsonl", [{"content": [{"role": "user", "content": i}], "rewards": float(s)} for i, _, s in ALL], FOUR, "rewards", "--id content"),
    shape("nested.jsonl", [{"meta": {"name": i}, "grade": {"right": bool(s)}} for i, _, s in ALL], FOUR, "grade.right", "--id meta.name"),
]
MANY = [harness(i, f, 4, **{"exact_match": 1.0, "pass@4": 1.0}) for i, _ in ROWS for f in ("first", "maj@4")]
REFUSED = [
    *(("s.jsonl", MANY, words, column) for column, words in [("pass@4", "many together"), ("gold", "one of the columns"), ("exact_match,maj@4", "many together")]),
    ("curve.csv", "k,pass@k\n1,0.3\n2,0.4\n", "no column names the prompt .columns: k, pass@k", None),
    ("means.json", {"score": 0.3, "metrics": {}, "htmls": [], "convos": []}, "no column names the prompt .columns: score", None),
    ("temperature.jsonl", [{"prompt": i, "completion": "x", "temperature": 1.0} for i, _ in ROWS], "no column says what is correct .columns: completion, temperature", None),
    ("indices.jsonl", [{"prompt": i, "completion": "x", "sample_idx": e % 2} for i, e, _ in ALL], "no column says what is correct", None),
    ("tokens.jsonl", [{"prompt": i, "completion": "x", "reward": [0.0, 0.0, 1.0]} for i, _ in ROWS], "3 numbers beside one answer are those of its tokens", None),
    ("seeds", {f"seeds/samples_{t}_{e}.jsonl": [harness("a", "none", acc=1.0)] for e, t in enumerate(("aime", "maths"))}, "several tasks .samplesaime, samplesmaths", None),
]
# fmt: on


def put(folder, name, content):
    """A file, an archive, or a folder of what its name stands for."""
    path = folder / name
    if path.suffix == ".eval":
        with zipfile.ZipFile(path, "w") as archive:
            for member, sample in content.items():
                archive.writestr(member, json.dumps(sample))
    elif path.suffix == ".parquet":
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.Table.from_pylist(content), path)
    elif not path.suffix:
        path.mkdir()
        for member, rows in content.items():
            put(folder, member, rows)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in content))
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize(("name", "content", "counts", "verdict", "option"), SHAPES)
def test_a_shape_is_read_unasked_or_by_the_option_that_is_printed(tmp_path, name, content, counts, verdict, option):  # fmt: skip
    path = put(tmp_path, name, content)
    words = shlex.split(option)
    calls = [(compare_command, [path, path]), (predict_command, ["trl", "--counts", path])]
    for command, call in calls if option else calls[:1]:
        unasked = CliRunner().invoke(command, [*map(str, call)])
        if option:
            assert unasked.exit_code == 2
            printed = re.search(r"(?:add|name it with) (--.*?)(;|\n|$)", unasked.output)[1]
            assert printed in (option, "--id COLUMN")
            unasked = CliRunner().invoke(command, [*map(str, call), *words])
        assert unasked.exit_code == 0, unasked.output
        assert command is predict_command or verdict is None or (f"correct by {verdict}." in " ".join(unasked.output.split())) == bool(verdict)  # fmt: skip
    options = compare_command.make_context("compare", [str(path), str(path), *words]).params
    found = read_counts(path, **{name: options[name] for name in COUNTS_OPTIONS}).rows.values()
    assert sorted((row.n, row.c) for row in found) == counts


@pytest.mark.parametrize(("name", "counts"), [("inspect.json", 2 * [(4, 2)]), ("lighteval.parquet", FOUR)])
def test_what_inspect_0_3_285_and_lighteval_0_13_wrote_is_read(name, counts):
    read = read_counts(Path(__file__).parent / "harnesses" / name)
    assert sorted((row.n, row.c) for row in read.rows.values()) == counts


@pytest.mark.parametrize(("name", "content", "words", "column"), REFUSED)
def test_what_says_nothing_of_answers_is_refused_once(tmp_path, name, content, words, column):
    with pytest.raises(ValueError, match=words) as refused:
        read_counts(put(tmp_path, name, content), reward=column)
    assert "\n" not in str(refused.value)
