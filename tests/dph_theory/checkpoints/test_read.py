"""`read_counts`, `read_steps`, `matched`: a table of files and what is read, one of what is refused."""

# ruff: noqa: E501, a case takes a line.

import io
import json
import math
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dph_theory.checkpoints import PairedCounts, matched, read_counts, read_steps
from dph_theory.checkpoints.reading import distinct_names
from dph_theory.support.record import record

A, B = {"id": "a", "n": 4, "c": 1}, {"id": "b", "n": 4, "c": 4}
AB = {"a": (4, 1), "b": (4, 4)}


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def verl(*scores, prompt="q", **more):
    return lines(*({"input": prompt, "output": "...", "score": score} | more for score in scores))


def harness(doc, form="none", **metrics):
    return {"doc_id": doc, "filter": form, "metrics": [*metrics], "resps": [["a", "b", "c", "d"]]} | metrics


def inspected(*samples, name="summaries.json"):
    made = io.BytesIO()
    told = [{"id": i, "epoch": 1, "scores": scores} | dict(*more) for i, scores, *more in samples]
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(name, json.dumps(told))
    return made.getvalue()


def evaluation(*sets):
    prompt = {"id": "q1", "correct": [1, 0, 1], "styles": ["a", "b", None]}
    prompt |= {"log_pi": [-1.0, -2.0, -3.0], "log_ref": [-2.0] * 3}
    results = {"sets": {name: {"prompts": [prompt]} for name in sets}}
    return json.dumps(record("full_scale.evaluation", seed=0, config={}, results=results, findings=[]))


WANDB = json.dumps({"columns": ["step", "prompt", "completion", "correct", "advantage"], "data": [
    [5, "1+1", "2", 1.0, 0.7], [5, "1+1", "3", 0.0, -0.7], [6, "1+1", "2", 1.0, 0.0]]})  # fmt: skip
SCORERS = inspected(
    ("q", {"a": {"value": "C"}, "b": {"value": "I"}}), ("r", {}, {"error": {"message": "time limit" * 50}})
)
FULL = {"id": 3, "correct": [1, 0, True], "log_ratio": [0.5, -1, 2], "style": {"a": 2, "b": None}}


def put(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / Path(next(iter(files))).parts[0]


PICTURES = [
    {"input": "Find x.", "output": "", "gts": g, "score": s} for g, s in (("1", 1.0), ("2", 0.0), ("1", 0.0))
]
READ = {
    "lines": ({"x.jsonl": lines(A, B)}, {}, AB),
    "lines called json": ({"x.json": lines(A, B)}, {}, AB),
    "an array": ({"x.json": json.dumps([A, B])}, {}, AB),
    "a table": ({"x.csv": "id,n,c,kl\na,4,1,\nb,4,4,\nc,3,0,0.5\n"}, {}, AB | {"c": (3, 0)}),
    "counts beside a prompt": ({"x.jsonl": lines(A | {"prompt": "q", "completion": ""}, B)}, {}, AB),
    "verdicts of a hair below one": ({"x.jsonl": lines({"id": "a", "correct": [0.999999, 1e-9]})}, {}, {"a": (2, 1)}),
    "cut off": ({"x.jsonl": lines(A, B) + '{"id": "c"'}, {}, AB),
    "all that a row may hold": ({"x.jsonl": lines(FULL)}, {}, {3: (3, 2)}),
    "dph evaluate": ({"run/evaluation.json": evaluation("in_domain")}, {}, {"q1": (3, 2)}),
    "dph evaluate, its file": ({"evaluation.json": evaluation("in_domain")}, {}, {"q1": (3, 2)}),
    "dph evaluate, a set": ({"run/evaluation.json": evaluation("x", "y")}, {"prompts": "y"}, {"q1": (3, 2)}),
    "verl, the last step": ({"v/9.jsonl": verl(0.0), "v/10.jsonl": verl(1.0, -1.0) + verl(1.0, prompt="p")}, {},
                            {"q": (2, 1), "p": (1, 1)}),
    "verl, pictures": ({"1.jsonl": lines(*PICTURES)}, {}, {"Find x. (truth: 1)": (2, 1), "Find x. (truth: 2)": (1, 0)}),
    "verl, uids": ({"1.jsonl": lines(*({**r, "uid": u} for r, u in zip(PICTURES, "aab", strict=True)))}, {}, {"a": (2, 1), "b": (1, 0)}),
    "verl, a score": ({"1.jsonl": verl(0.3, 0.9, acc=True)}, {"reward": "score", "correct_from": 0.5}, {"q": (2, 1)}),
    "trl of wandb": ({"x.table.json": WANDB}, {}, {"1+1": (3, 2)}),
    "a table with semicolons": ({"x.csv": "id;n;c\na,1;4;1\nb;4;4\n"}, {}, {"a,1": (4, 1), "b": (4, 4)}),
    "a table with tabs": ({"x.csv": "id\tn\tc\na\t4\t1\n"}, {}, {"a": (4, 1)}),
    "trl, one of two": ({"x.csv": "prompt,completion,right,short\n1+1,2,0,1\n"}, {"reward": "short"}, {"1+1": (1, 1)}),
    "lm-eval, the only filter": ({"s.jsonl": lines(harness(1, "strict", em=1.0))}, {"reward": "em"}, {"1": (1, 1)}),
    "rewards from zero on": ({"1.jsonl": verl(0.0, -1.0, 0.5)}, {"correct_from": 0.0}, {"q": (3, 2)}),
    "unscored answers are wrong": ({"1.jsonl": verl(1.0, math.nan)}, {"unscored": "wrong"}, {"q": (2, 1)}),
    "unscored answers are left out": ({"1.jsonl": verl(1.0, math.nan, None)}, {"unscored": "omit"}, {"q": (1, 1)}),
    "unscored answers of a table": ({"x.csv": "prompt,completion,ok\n1,2,1.0\n1,3,\n"}, {"unscored": "wrong"}, {"1": (2, 1)}),
    "inspect, an error counts as wrong": ({"x.eval": SCORERS}, {"reward": "a", "unscored": "wrong"}, {"q": (1, 1), "r": (1, 0)}),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_what_is_read(tmp_path, monkeypatch, case):
    for name in ("datasets", "pandas", "pyarrow"):  # None of these needs them.
        monkeypatch.setitem(sys.modules, name, None)
    files, options, expected = READ[case]
    found = read_counts(put(tmp_path, files), **options)
    assert {key: (row.n, row.c) for key, row in found.rows.items()} == expected
    assert ("it ends in an unfinished line, which is left out" in found.notes) == (case == "cut off")


def test_what_rows_hold_beside_counts(tmp_path):
    row = read_counts(put(tmp_path, READ["all that a row may hold"][0])).rows[3]
    assert (row.styles, row.kl, row.kl_correct) == ({"a": 2}, pytest.approx(0.5), pytest.approx(2.5 / 3))
    row = read_counts(put(tmp_path, READ["dph evaluate"][0])).rows["q1"]
    assert (row.kl, row.kl_correct, row.styles) == (0, 0, {"a": 1})
    for said, votes in ((("4", "4", "5"), ((1, 0), (2, 2))), (("4", None), None)):
        text = "".join(verl(float(each == "4"), pred=each) for each in said)
        assert read_counts(put(tmp_path, {"1.jsonl": text})).rows["q"].votes == votes


X = "x.jsonl"
QWEN = {"idx": 0, "question": "q", "answer": "4", "pred": ["4", "5"], "score": [True, False]}
REFUSED = [
    *(({X: lines(A | changed)}, {}, words) for changed, words in [
        ({"c": 5}, ":1: c=5"), ({"c": True}, "c=True"), ({"n": 3.0}, "n=3.0"), ({"n": 0, "c": 0}, "n=0"), ({"n": 10**12}, "at most 16,384"),
        ({"id": None}, "needs id"), ({"id": ""}, "id=''"), ({"correct": [1, 1, 1, 0]}, "must agree with c=1"),
        ({"correct": [2, 0, 0, 0]}, "zeros and ones"), ({"log_ratio": [0.1]}, "one for each of the 4"),
        ({"log_ratio": [0.1, 0.2, 0.3, math.nan]}, "a finite number"), ({"kl": "high"}, "kl='high'"),
        ({"correct": [1, 0, 0, 0], "answer": ["a"]}, "answer=.*one for each of the 4"), ({"answer": "aaaa"}, "answer=.*a list"),
        ({"style": {"a": 9}}, "at most n = 4"), ({"style": "a"}, "an object of counts"),
    ]),
    ({X: lines(A, B, B) + "no\n"}, {}, ":3: id='b' is not allowed: each prompt once.*\n.*:4: is no valid JSON"),
    ({X: lines(A | {"id": 0}, A | {"id": "0"})}, {}, ":2: id='0' is not allowed: each prompt once; a number and its digits"),
    ({X: '{"id": "c"'}, {}, "at least one row"),
    ({"x.csv": "id,n,c\n007,4,3\nb,4,9\nd,4,x\n"}, {}, ":3: c=9.*\n.*:4: c='x'"),
    ({"run/evaluation.json": evaluation("a", "b")}, {}, "one of a, b"),
    ({"run/evaluation.json": "{"}, {}, "is no valid JSON"),
    ({"v/9.jsonl": verl(0.0)}, {"by": "step"}, "by='step' is not allowed: a field that rows"),
    ({"v/9.jsonl": verl(0.0)}, {"reward": "hit"}, "9.jsonl: reward='hit' is not allowed: one of the columns output, score"),
    ({"9.jsonl": verl(1.0, None)}, {}, "lines 2 have no number in column 'score' .wrong counts .*, omit leaves .*: add --unscored wrong$"),
    ({"9.jsonl": verl(1.0) + verl(*[None] * 9)}, {}, "lines 2, 3, 4, 5, 6 and 4 more have no number"),
    ({"9.jsonl": verl(1.0)}, {"unscored": "right"}, "unscored='right' is not allowed: one of wrong, omit"),
    ({"9.jsonl": verl("1.0")}, {}, "no column says what is correct"),
    ({"9.jsonl": verl(0.0, 0.9)}, {}, r"score has the values 0 \(1\), 0.9 \(1\): add --correct-from 0.9$"),
    ({"9.jsonl": verl(*[i / 9 for i in range(10)])}, {}, r"score has the values 0 \(1\), 0.111.*, \.\.\. 1: 10 values: add --correct-from 1$"),
    ({"9.jsonl": verl(0.5, None)}, {}, "lines 2 have no .*; score has the values 0.5 .*: add --unscored wrong --correct-from 0.5$"),
    ({"x.csv": "prompt,completion,right,correct\n1+1,2,0,1\n"}, {}, "right, correct may say what is correct: add --correct right$"),
    ({"x.table.json": "[1]"}, {}, ":1: row=1 is not allowed"),
    ({"p.jsonl": lines({"problem": "q", "pass_rate": 0.3})}, {"n": 4}, "n=4 is not allowed: a number of answers of which pass_rate=0.3 are correct"),
    ({X: lines(QWEN)}, {"column": "absent"}, r"no column 'absent' of all rows \(columns: idx, question"),
    ({X: lines(QWEN)}, {"reward": "question"}, r"question='q' is not allowed: a number, or a word such as pass \(line 1\)"),
    ({"x.eval": SCORERS}, {}, "a, b may say what is correct"),
    ({"x.eval": SCORERS}, {"reward": "b"}, r"lines 2 \(time limit.*have no number"),
    ({"x.eval": inspected(name="header.json")}, {}, "no column names the prompt"),
    ({"x.eval": "text"}, {}, "a log of Inspect"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("files", "options", "words"), REFUSED, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_is_refused_and_in_which_line(tmp_path, files, options, words):
    with pytest.raises(ValueError, match=words):
        read_counts(put(tmp_path, files), **options)


def test_steps(tmp_path):
    def told(found):
        return {step: {key: (row.n, row.c) for key, row in read.rows.items()} for step, read in found.items()}

    rows = [A | {"c": c, "step": 10 * c} for c in (2, 1)]
    assert told(read_steps(put(tmp_path, {X: lines(*rows)}))) == {10: {"a": (4, 1)}, 20: {"a": (4, 2)}}
    assert told(read_steps(put(tmp_path, {"x.json": WANDB}))) == {5: {"1+1": (2, 1)}, 6: {"1+1": (1, 1)}}
    assert [*read_steps(put(tmp_path, {"v/9.jsonl": verl(1.0), "v/10.jsonl": verl(0.0)}))] == [9, 10]
    with pytest.raises(ValueError, match=r"x.jsonl:2: step=None is not allowed: a whole number in each row"):
        read_steps(put(tmp_path, {X: lines(rows[0], A)}))
    with pytest.raises(ValueError, match="it is not there"):
        read_counts(tmp_path / "absent.jsonl")


def test_notes_on_rewards(tmp_path):
    read = read_counts(put(tmp_path, {"1.jsonl": verl(0.0, 1.0, 0.0, math.nan)}), unscored="omit")
    assert read.columns == "prompts by input, correct by score"
    assert read.notes == ("1 answers without a reward are left out",)
    sixteen = harness(3, acc=1.0) | {"resps": [["a"] * 16]}
    read = read_counts(put(tmp_path, {"s.jsonl": lines(sixteen)}))
    assert read.notes[0] == "acc,none is of one of 16 answers drawn to each: the others are in no number"
    assert read_counts(put(tmp_path, {X: lines(A)})).notes == ()


def test_names_tell_paths_apart():
    for apart in (["s1/run.jsonl", "s2/run.jsonl", "base.jsonl"], ["a/s/run", "b/s/run", "c"]):
        assert distinct_names(apart) == apart
    assert distinct_names(["x/a/run", "x/b/run"]) == ["a/run", "b/run"]
    assert distinct_names(["a/run", "a/run"]) == ["run", "run, 2"]


def test_prompts_are_paired_by_id(tmp_path):
    def read(name, ids):
        return read_counts(put(tmp_path, {name: lines(*(A | {"id": i} for i in ids))}))

    found = matched(read("base", ["b", 2, "a", 10]), read("run", [10, "a", 2, "b"]))
    assert [r.id for r in found.base] == [r.id for r in found.run] == [2, 10, "a", "b"]
    # A number and its digits are one id.
    found = matched(read("base", [10, 9]), read("run", ["9", "10"]))
    assert ([r.id for r in found.base], [r.id for r in found.run]) == ([9, 10], ["9", "10"])
    base, run = read("base", "abc"), read("run", "bd")
    with pytest.raises(ValueError, match=r"run lacks 2 of the prompts, such as 'a'; .*base lacks 1"):
        matched(base, run)
    found = matched(base, run, allow_missing=True)
    assert (len(found.counts), found.only_base, found.only_run) == (1, 2, 1)
    with pytest.raises(ValueError, match="at least one prompt in common"):
        matched(base, read("other", "z"), allow_missing=True)
    with pytest.raises(ValueError, match="run_c=3"):
        PairedCounts.from_counts([2, 2], [1, 1], [2, 2], [0, 3])
    thin = PairedCounts.from_counts(np.full(4000, 6), 3, 4, 1).thinned(np.random.default_rng(0))
    assert ((thin.base_n == 4) & (thin.run_n == 4) & (thin.run_c == 1)).all()
    assert thin.base_c.mean() == pytest.approx(2, abs=0.05)


def test_answers_are_those_of_the_column_that_is_named(tmp_path):
    path = put(tmp_path, {X: lines(QWEN)})
    assert read_counts(path, column="idx").rows["0"].answers == ("4", "5")
    assert read_counts(path, answer="answer").rows["q"].answers == ("4", "4")
