import csv
import hashlib
import json
import shutil
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.tiny_llama import tiny_llama
from support.tiny_training import TRL_WARNS

from dph_cli import main
from dph_theory.checkpoints import read_counts
from full_scale.models.generation import derived_seed, sample
from full_scale.models.load import load
from full_scale.recipe.schema import ModelConfig
from full_scale.sampling.count import CountSettings, count

REWARDS = """
def begins(prompts, completions, bound, **columns):
    texts = [text if isinstance(text, str) else text[-1]["content"] for text in completions]
    assert all(isinstance(text, str) == isinstance(prompt, str) for text, prompt in zip(completions, prompts))
    return [float(text.split()[0] < most) if text.split() else None for text, most in zip(texts, bound)]

def shares(completions, **columns):
    return [len(set(text.split())) / 16 for text in completions]

def two_points(completions, bound, **columns):
    return [2.0 * (text < least) for text, least in zip(completions, bound)]

def words(completions, bound, **columns):
    return ["correct" if text < least else False for text, least in zip(completions, bound)]

async def awaited(completions, bound, **columns):
    return [float(text < least) for text, least in zip(completions, bound)]

def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    return {"score": float(solution_str < ground_truth), "acc": solution_str < ground_truth}

async def compute_later(data_source, solution_str, ground_truth, extra_info=None):
    return solution_str < ground_truth

def is_long(answer, row):
    return len(answer.split()) > row["words"]
"""
ROWS = [{"id": i, "prompt": f"p{i} w{i}", "answer": f"w{i}", "bound": "w5", "words": 3} for i in range(5)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_llama(tmp_path_factory.mktemp("model"), hidden=16, scale=2.0)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rewards.py").write_text(REWARDS)
    (tmp_path / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return tmp_path


def settings(model, verifier="rewards.py:begins", **changes):
    usual = {"n": 6, "max_tokens": 8, "batch_size": 12, "seed": 3, "keep": True, "prompts": "prompts.jsonl"}
    return CountSettings(**{**usual, "model": str(model), "verifier": verifier, **changes})


def counted(chosen, path, **options):
    return count(chosen, path, say=lambda words: None, **options)


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_answers_are_those_of_the_one_sampler_and_counts_what_the_reward_says(model, folder):
    result = counted(settings(model), folder / "base.jsonl")
    loaded = load(ModelConfig(path=str(model)))
    sampling = settings(model).recipe(chat=False).sampling
    stored = rows(folder / "base.jsonl")
    for batch in range(3):
        examples = ROWS[2 * batch : 2 * batch + 2]
        prompts = [loaded.tokenizer(row["prompt"])["input_ids"] for row in examples]
        seed = derived_seed(3, "count", batch)
        groups = sample(loaded.model, loaded.tokenizer, prompts, 6, sampling, seed)
        for row, group, entry in zip(examples, groups, stored[2 * batch :], strict=False):
            texts = [answer.text for answer in group]
            verdicts = [int(bool(text.split()) and text.split()[0] < "w5") for text in texts]
            assert entry == {
                "id": str(row["id"]), "n": 6, "c": sum(verdicts), "prompt": row["prompt"],
                "correct": verdicts, "answer": texts,
            }  # fmt: skip
    right = [entry["c"] for entry in stored]
    assert result.pass_at_k[1].value == pytest.approx(sum(right) / 30)
    assert result.pass_at_k[6].value == pytest.approx(sum(c > 0 for c in right) / 5)
    assert result.prompts == Counter(right)
    # `dph compare` reads answers with their verdicts.
    assert read_counts(folder / "base.jsonl").rows["0"].votes is not None
    assert [*folder.glob("*.parts")] == []


@pytest.mark.parametrize(
    ("verifier", "changes", "verdict"),
    [
        ("exact", {}, lambda text, row: text == row["answer"]),
        ("regex", {}, lambda text, row: row["answer"] in text),
        ("rewards:is_long", {}, lambda text, row: len(text.split()) > 3),
        ("rewards.py:two_points", {"correct_from": 2}, lambda text, row: text < "w5"),
        ("rewards.py:awaited", {}, lambda text, row: text < "w5"),
        ("rewards.py:compute_score", {}, lambda text, row: text < row["answer"]),
        ("rewards.py:compute_later", {}, lambda text, row: text < row["answer"]),
        ("rewards.py:shares", {"correct_from": 0.25}, lambda text, row: len(set(text.split())) >= 4),
    ],
)
def test_verifiers_by_name_of_ones_own_and_as_trl_calls_them(
    model, folder, monkeypatch, verifier, changes, verdict
):
    monkeypatch.syspath_prepend(folder)
    counted(settings(model, verifier, **changes), folder / "base.jsonl")
    for row, entry in zip(ROWS, rows(folder / "base.jsonl"), strict=True):
        assert entry["correct"] == [int(verdict(text, row)) for text in entry["answer"]]


def test_prompts_are_the_same_from_every_kind_of_file_and_as_a_conversation(model, folder):
    import datasets

    chosen = settings(model, "exact", keep=False)
    counted(chosen, folder / "a.jsonl")
    with (folder / "prompts.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["question", "gold", "id"])
        writer.writeheader()
        writer.writerows({"question": row["prompt"], "gold": row["answer"], "id": row["id"]} for row in ROWS)
    datasets.Dataset.from_list(ROWS).to_parquet(folder / "prompts.parquet")
    columns = {"prompt": "question", "answer": "gold", "column": "id"}
    counted(replace(chosen, prompts="prompts.csv", **columns), folder / "b.jsonl")
    counted(replace(chosen, prompts="prompts.parquet"), folder / "c.jsonl")
    assert rows(folder / "a.jsonl") == rows(folder / "b.jsonl") == rows(folder / "c.jsonl")
    talks = [{**row, "prompt": [{"role": "user", "content": row["prompt"]}]} for row in ROWS]
    (folder / "talks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in talks))
    chatting = Path(shutil.copytree(model, folder / "chatting"))
    (chatting / "chat_template.jinja").write_text("{% for turn in messages %}{{ turn.content }}{% endfor %}")
    counted(settings(chatting, prompts="talks.jsonl"), folder / "d.jsonl")
    counted(settings(model), folder / "e.jsonl")
    texts, talked = ([row["answer"] for row in rows(folder / f"{name}.jsonl")] for name in "ed")
    assert texts == talked


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.slow
def test_a_count_that_was_killed_goes_on_and_ends_as_if_it_had_not_been(model, folder):
    counted(settings(model), folder / "whole.jsonl")
    words = [
        "count",
        str(model),
        "prompts.jsonl",
        "--verifier",
        "rewards.py:begins",
        "--n",
        "6",
        "--seed",
        "3",
    ]
    words += ["--max-tokens", "8", "--batch-size", "12", "--keep", "answers", "--to", "base.jsonl"]
    killed = (
        "import os, signal, sys, full_scale.sampling.count as c\n"
        "def die(stage, done, total): os.kill(os.getpid(), signal.SIGKILL)\n"
        "import full_scale.stages as s; stage = s.count_stage\n"
        "s.count_stage = lambda settings, path, progress, say: stage(settings, path, die, say)\n"
        "import dph_cli; dph_cli.main(sys.argv[1:])"
    )
    done = subprocess.run([sys.executable, "-c", killed, *words], check=False)
    assert done.returncode == -signal.SIGKILL
    journal = folder / "base.jsonl.parts" / "answers.jsonl"
    journal.write_bytes(journal.read_bytes() + b'{"key": "1", "value": {"ro')
    assert not (folder / "base.jsonl").exists()
    invoked = CliRunner().invoke(main, words, catch_exceptions=False)
    assert invoked.exit_code == 0, invoked.output
    assert digest(folder / "base.jsonl") == digest(folder / "whole.jsonl")
    assert "Pass@1 " in invoked.output
    assert "Next: dph predict trl beta=0.04 --counts base.jsonl" in invoked.output
    # Finished, it is not counted again.
    assert invoked.output.endswith(CliRunner().invoke(main, words).output)


def test_what_differs_from_a_count_there_is_is_refused(model, folder):
    tiny_llama(folder / "other", hidden=16, seed=1)

    def stop(stage, done, total):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        counted(settings(model), folder / "begun.jsonl", progress=stop)
    counted(settings(model), folder / "finished.jsonl")
    for changes, says in (
        ({"n": 7}, "n=7 is not allowed: .*begun with 6"),
        ({"seed": 4}, "seed=4 is not allowed"),
        ({"verifier": "exact"}, "verifier=.* is not allowed"),
        ({"limit": 4}, "prompts=.* is not allowed"),
        ({"max_tokens": 9}, "sampling=.*max_new_tokens"),
        ({"model": str(folder / "other")}, "model_hash=.* is not allowed"),
    ):
        for name in ("begun", "finished"):
            with pytest.raises(ValueError, match=says):
                counted(replace(settings(model), **changes), folder / f"{name}.jsonl")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"n": 0}, "n=0 is not allowed: from 1"),
        ({"verifier": "maths"}, "verifier='maths' is not allowed: math, sql, exact, regex, MODULE:FUNCTION"),
        ({"verifier": "rewards.py:nosuch"}, "verifier='rewards.py:nosuch' is not allowed: .*nosuch"),
        ({"prompt": "question"}, "prompt='question' is not allowed: a column of prompts.jsonl, which has"),
        ({"verifier": "math", "answer": "gold"}, "answer='gold' is not allowed: a column"),
        ({"verifier": "sql"}, "database='database' is not allowed: a column"),
        ({"column": "name"}, "id='name' is not allowed: a column"),
        ({"column": "words"}, "id='3' is not allowed: each prompt once"),
        ({"prompts": "empty.jsonl"}, "prompts='empty.jsonl' is not allowed: a source with at least one row"),
        ({"prompts": "absent.jsonl"}, "data='absent.jsonl' is not allowed: .*no such path"),
        ({"model": "./absent"}, "model.path='./absent' is not allowed"),
        ({"chat": True}, "chat=True is not allowed: .*no chat template"),
        ({"max_tokens": 64}, "max_tokens=64 is not allowed: at most 62"),
        (
            {"verifier": "rewards:shares"},
            r"the verifier returned .* times\).*: neither true nor false, 0 nor 1; .*--correct-from",
        ),
        (
            {"verifier": "rewards:two_points"},
            r"returned 2 \(\d+ times\): neither .* as in --correct-from 2 \(",
        ),
    ],
)
def test_what_cannot_be_counted_is_refused_by_name(model, folder, monkeypatch, changes, says):
    monkeypatch.syspath_prepend(folder)
    (folder / "empty.jsonl").write_text("")
    with pytest.raises((ValueError, RuntimeError), match=says):
        counted(settings(**{"model": model, **changes}), folder / "base.jsonl")
    assert not (folder / "base.jsonl").exists()
    assert [*folder.glob("*.parts/answers*")] == []


@pytest.mark.filterwarnings(TRL_WARNS)
def test_an_adapter_answers_from_its_folder_and_is_another_model(model, folder):
    from peft import LoraConfig, get_peft_model

    base = load(ModelConfig(path=str(model)))
    adapted = get_peft_model(
        base.model, LoraConfig(task_type="CAUSAL_LM", init_lora_weights=False, r=8, lora_alpha=64)
    )
    adapted.save_pretrained(folder / "adapter")
    counted(settings(folder / "adapter"), folder / "adapted.jsonl")
    counted(settings(model), folder / "base.jsonl")
    answers = [[row["answer"] for row in rows(folder / f"{name}.jsonl")] for name in ("adapted", "base")]
    assert answers[0] != answers[1]
