"""Counts along a training by TRL's own trainer, and their comparison by `dph compare`."""

import json

import pytest
import torch
from click.testing import CliRunner
from support.tiny_llama import tiny_tokenizer
from support.tiny_training import PROMPTS, TRL_WARNS, even_reward, same, trainer, weights
from transformers import AutoModelForCausalLM
from trl import GRPOConfig, GRPOTrainer

from dph_theory.checkpoints import read_counts
from dph_theory.checkpoints.cli import compare_command
from full_scale.training.counts_callback import CountsCallback

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)
LONG = {prompt: f"{prompt} p1" for prompt in PROMPTS}


def even(prompt, answer):
    return even_reward([answer])[0]


def counting(model, output, folder=None, verifier=even, **settings):
    callbacks = [CountsCallback(LONG, verifier, 16, 2, folder, max_new_tokens=6)] if folder else []
    run = trainer(model, output, kind=GRPOTrainer, config=GRPOConfig, callbacks=callbacks, **settings)
    run.train()
    return run


def test_a_training_writes_counts_and_is_the_same_as_without(model, tmp_path):
    folder = tmp_path / "counts"
    counted, alone = counting(model, tmp_path / "a", folder), counting(model, tmp_path / "b")
    assert same(weights(counted), weights(alone))
    assert sorted(path.name for path in folder.iterdir()) == ["step0.jsonl", "step2.jsonl", "step4.jsonl"]
    base = read_counts(folder / "step0.jsonl")
    assert [*base.rows] == PROMPTS
    assert {row.n for row in base.rows.values()} == {16}
    # The mean rate is that of answers drawn by the model itself.
    initial, tokenizer = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32), tiny_tokenizer()
    ids = torch.tensor([tokenizer(text)["input_ids"] for text in LONG.values()]).repeat_interleave(64, 0)
    torch.manual_seed(0)
    drawing = {"do_sample": True, "top_k": 0, "max_new_tokens": 6, "pad_token_id": tokenizer.pad_token_id}
    drawn = initial.generate(ids, attention_mask=torch.ones_like(ids), **drawing)[:, ids.shape[1] :]
    rate = sum(even_reward(tokenizer.batch_decode(drawn, skip_special_tokens=True))) / len(drawn)
    assert sum(row.c for row in base.rows.values()) / (16 * 8) == pytest.approx(rate, abs=0.15)

    files = [str(folder / f"step{step}.jsonl") for step in (0, 2, 4)]
    result = CliRunner().invoke(compare_command, files)
    assert result.exit_code == 0, result.output
    assert "8 prompts" in result.output


def test_what_is_there_stays_and_random_numbers_are_those_of_the_step(model, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        counting(model, tmp_path / "run", folder, max_steps=2)
    assert (first / "step2.jsonl").read_text() == (second / "step2.jsonl").read_text()
    rows = [json.dumps({"id": prompt, "n": 1, "c": 1}) for prompt in PROMPTS]
    (first / "step0.jsonl").write_text("\n".join(rows))
    (first / "step2.jsonl").unlink()
    counting(model, tmp_path / "run", first, max_steps=2)
    assert read_counts(first / "step0.jsonl").rows["p0"].n == 1
    assert (first / "step2.jsonl").read_text() == (second / "step2.jsonl").read_text()


def test_wrong_settings_are_named(model, tmp_path):
    for wrong, words in (
        (({}, even, 4, 1), "at least one"),
        ((LONG, even, 0, 1), "n=0"),
        ((LONG, even, 4, 0), "every=0"),
    ):
        with pytest.raises(ValueError, match=words):
            CountsCallback(*wrong, tmp_path)
    with pytest.raises(ValueError, match=r"verifier=0\.5 is not allowed: true or false"):
        counting(model, tmp_path / "run", tmp_path / "counts", verifier=lambda prompt, answer: 0.5)
