"""Logs that do not name the prompt, and rates beside verdicts, are asked about: 40 prompts of 8 answers."""

# ruff: noqa: E501, a case takes a line.

import json

import numpy as np
import pytest

from dph_theory.checkpoints import read_counts

RNG = np.random.default_rng(0)
RIGHT = (RNG.random((40, 8)) < RNG.beta(0.6, 1.2, size=(40, 1))).astype(int)
TEXTS = [f"What is {i} + {7 * i}?" for i in range(40)]
ALL = [(i, k, int(RIGHT[i, k])) for i in range(40) for k in range(8)]
ONCE = [(i, TEXTS[i], RIGHT[i]) for i in range(40)]
COUNTS = sorted((8, int(row.sum())) for row in RIGHT)


def messages(i, *more):
    return [{"role": "user", "content": TEXTS[i]}, *more]


def csv(header, rows):
    return "\n".join([header, *(",".join(map(str, row)) for row in rows), ""])


LOGS = {
    "a row number beside messages": (
        [{"index": j, "messages": messages(i), "response": "r", "is_correct": bool(s)} for j, (i, _, s) in enumerate(ALL)],
        {"column": "messages"}, "each 'index' stands once.*while messages repeats: add --id messages$"),
    "a row number beside nested messages": (
        [{"content": [messages(i, {"role": "assistant", "content": f"a{k}"})], "rewards": [float(s)], "idx": j}
         for j, (i, k, s) in enumerate(ALL)],
        {"column": "content.0.0.content"}, "each 'idx' stands once.*add --id content.0.0.content$"),
    "a sample number": (
        [{"step": 1, "sample_idx": j, "prompt_idx": i, "prompt_tokens": [1, i], "reward": 10.0 * s}
         for j, (i, _, s) in enumerate(ALL)],
        {"column": "prompt_idx", "correct_from": 10},
        "no column is known to name the prompt; prompt_idx repeats; .* add --id prompt_idx --correct-from 10$"),
    "a table with its row numbers": (
        csv(",user_prompt,is_correct", [(j, TEXTS[i], s) for j, (i, _, s) in enumerate(ALL)]),
        {"column": "user_prompt"}, "no column is known to name the prompt; user_prompt repeats: add --id user_prompt$"),
    "answers numbered in each prompt": (
        [{"id": k, "messages": messages(i), "passed": bool(s)} for i, k, s in ALL],
        {"column": "messages"}, "a 'id' has several texts, as the number of an answer does, while messages repeats: add --id messages$"),
    "a sample's number beside its question": (
        [{"sample_id": j, "question": TEXTS[i], "correct": s} for j, (i, _, s) in enumerate(ALL)],
        {"column": "question"}, "each 'sample_id' stands once.*add --id question$"),
    "a row number beside an object": (
        [{"uid": f"row-{j}", "meta": {"task": TEXTS[i]}, "ok": s} for j, (i, _, s) in enumerate(ALL)],
        {"column": "meta.task"}, "each 'uid' stands once.*add --id meta.task$"),
    "a rate without its number of answers": (
        [{"problem": text, "acc": float(row.mean())} for _, text, row in ONCE],
        {"n": 8}, "acc is a share of a number of answers that no column has: add --n 8$"),
    "a rate beside whether any is correct": (
        [{"problem": text, "pass": int(row.any()), "acc": float(row.mean())} for _, text, row in ONCE],
        {"reward": "acc", "n": 8}, "acc, pass may say .*acc is a share .*: add --correct acc --n 8$"),
    "a rate in percent": (
        [{"id": i, "accuracy": f"{100 * row.mean():.1f}%"} for i, _, row in ONCE],
        {"n": 8}, "accuracy is a share of .*: add --n 8$"),
}  # fmt: skip
READ = {
    "a rate beside its number of answers": ("x.csv", csv("problem_id,level,acc,num_samples", [(i, i % 5, row.mean(), 8) for i, _, row in ONCE])),
    "a mean reward beside its number of answers": ("x.jsonl", [{"id": i, "score": float(row.mean()), "n_samples": 8} for i, _, row in ONCE]),
    "bigcode-evaluation-harness": ("x.json", {str(i): [[k, {"task_id": i, "passed": bool(s), "result": "", "completion_id": k}] for k, s in enumerate(row)] for i, _, row in ONCE}),
    "NeMo-RL": ("x.json", {"evaluation_data": [{"prompt": TEXTS[i], "response": "r", "reward": float(s), "message_log": messages(i), "sample_index": j} for j, (i, _, s) in enumerate(ALL)]}),
    "an object of lists": ("x.json", {f"p{i}": row.tolist() for i, _, row in ONCE}),
    "shards of one name": ("x", {f"shard_{part}/results.jsonl": [{"question": TEXTS[i], "correct": s} for i, _, s in ALL if i % 4 == part] for part in range(4)}),
    "a shard that has no number": ("x", {"grpo_metadata.jsonl": [{"run": "a"}], "rollouts_000.jsonl": [{"problem_id": i, "correct": s} for i, _, s in ALL]}),
    "one answer a prompt, and a category": ("x.jsonl", [{"id": i, "level": i % 5, "subject": f"kind {i % 2}", "n": 8, "c": int(row.sum())} for i, _, row in ONCE]),
}  # fmt: skip


def put(path, content):
    """A file, or a folder of files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.suffix:
        for name, rows in content.items():
            put(path / name, rows)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in content))
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def counted(path, **options):
    return sorted((row.n, row.c) for row in read_counts(path, **options).rows.values())


@pytest.mark.parametrize("case", LOGS)
def test_what_a_log_leaves_open_is_asked_for_once_and_then_read(tmp_path, case):
    content, options, words = LOGS[case]
    path = put(tmp_path / ("x.csv" if isinstance(content, str) else "x.jsonl"), content)
    with pytest.raises(ValueError, match=words):
        read_counts(path)
    assert counted(path, **options) == COUNTS


@pytest.mark.parametrize("case", READ)
def test_what_columns_say_is_read_unasked(tmp_path, case):
    name, content = READ[case]
    assert counted(put(tmp_path / name, content)) == COUNTS
    unread = [note for note in read_counts(tmp_path / name).notes if "not read" in note]
    assert unread == ["without a number in its name, and not read: grpo_metadata.jsonl"] * (
        "no number" in case
    )
    if case.startswith("a rate"):
        assert counted(tmp_path / name, n=16) == sorted((16, 2 * c) for _, c in COUNTS)


def test_single_answers_with_names_of_their_own_are_read(tmp_path):
    rows = [
        {"id": i, "question": TEXTS[i], "subject": f"kind {i % 2}", "correct": s} for i, k, s in ALL if not k
    ]
    assert len(counted(put(tmp_path / "x.jsonl", rows))) == 40
