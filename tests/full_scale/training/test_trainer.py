import json

import pytest
import torch
from peft import LoraConfig
from support.tiny_llama import tiny_llama
from support.tiny_training import (
    TRL_WARNS,
    buffer,
    checkpoint,
    distance,
    drawn_rows,
    even_reward,
    first_gradient,
    full_gradient,
    full_loss,
    gradient_gap,
    same,
    trainer,
    weights,
)
from transformers import AutoModelForCausalLM
from trl import GRPOConfig, GRPOTrainer

from dph_theory import alpha_divergence
from dph_theory.divergences import named

pytestmark = [pytest.mark.filterwarnings(TRL_WARNS), pytest.mark.slow]
GRADIENTS_AGREE = 5e-7
REHEARSAL = {"rehearsal": buffer(), "rehearsal_rows": 9}


def test_without_eta_weights_and_rollouts_are_those_of_grpo(model, tmp_path):
    runs = []
    for settings in ({"kind": GRPOTrainer, "config": GRPOConfig}, {"eta": 0.0, "rehearsal": buffer()}):
        seen = []

        def reward(completions, seen=seen, **columns):
            seen.append(list(completions))
            return even_reward(completions)

        # Ten steps of an epoch of four: the order of the prompts in later epochs counts too.
        run = trainer(model, tmp_path, reward=reward, max_steps=10, **settings)
        run.train()
        runs.append((weights(run), seen))
    assert same(runs[0][0], runs[1][0])
    assert runs[0][1] == runs[1][1]
    assert len(runs[0][1]) == 10


@pytest.mark.parametrize(
    "settings",
    [
        {"rehearsal_reduction": "sequence_mean", "rehearsal_rows": None},
        {"divergence": "jensen_shannon", "gauge": "normalised"},
        {"divergence": "alpha", "alpha": 0.2, "rehearsal_level": "sequence"},
        {"divergence": "reverse_kl", "gauge": 0.5, "rehearsal_reduction": "sum"},
        {"divergence": "support.own_divergence:LE_CAM"},
        {"rehearsal_form": "released_forward"},
    ],
    ids=str,
)
def test_the_logged_loss_is_that_of_the_theory_on_the_steps_rows(model, tmp_path, settings):
    settings = REHEARSAL | settings
    run = trainer(model, tmp_path, eta=0.3, max_steps=2, save_strategy="steps", save_steps=1, **settings)
    run.train()
    stages = (checkpoint(tmp_path, 1), model)
    policy, initial = (AutoModelForCausalLM.from_pretrained(at, dtype=torch.float32) for at in stages)
    # The released u - 1 - log u is the forward KL's generator in the gauge without slope at u = 1.
    gauge = settings.get("gauge", "normalised" if "rehearsal_form" in settings else "printed")
    expected = full_loss(
        policy,
        initial,
        # Half as many rows as a step has rollouts, unless told.
        drawn_rows(settings["rehearsal_rows"] or 4, step=1),
        run.args.rehearsal_reduction,
        alpha_divergence(0.2) if "alpha" in settings else named(run.args.divergence),
        level=run.args.rehearsal_level,
        gauge=gauge,
    ).item()
    losses = [log["rehearsal/loss"] for log in run.state.log_history[:2]]
    assert abs(expected) > 1e-6
    assert losses[1] == pytest.approx(expected, rel=2e-5)
    assert gauge != "normalised" or losses[0] == pytest.approx(0, abs=1e-9)


def test_the_gradient_is_that_of_all_rows_at_once_however_they_are_split(model, tmp_path):
    for i, settings in enumerate(
        (
            {"gradient_accumulation_steps": 1},
            {"gradient_accumulation_steps": 4, "reduction": "sequence_mean"},
            {"gradient_accumulation_steps": 8},
            {"steps_per_generation": 4},
            {"num_iterations": 2},
            {"two_backward": True, "gradient_accumulation_steps": 1},
            {"gradient_checkpointing": True},
        )
    ):
        assert gradient_gap(model, tmp_path / str(i), **settings) < GRADIENTS_AGREE, settings
    # The mean of the micro-batches' means is another one.
    rows = drawn_rows(11)
    parts = [full_gradient(model, rows[m::4]) for m in range(4)]
    naive = {name: sum(part[name] for part in parts) / 4 for name in parts[0]}
    assert distance(full_gradient(model, rows), naive) > 0.05


def test_eta_scales_the_gradient_and_adds_to_the_explorations(model, tmp_path):
    explored = first_gradient(model, tmp_path / "explored")
    both = first_gradient(model, tmp_path / "both", eta=0.25, **REHEARSAL)
    rehearsed = full_gradient(model, drawn_rows(9))
    sums = {name: explored[name] + 0.25 * rehearsed[name] for name in both}
    assert distance(sums, both) < GRADIENTS_AGREE


ADAPTER = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")


@pytest.mark.parametrize(
    ("settings", "bound"),
    [
        ({}, 1e-5),
        ({"peft_config": ADAPTER, "gradient_checkpointing": True}, 1e-5),
        ({"bf16": True}, 0.1),
        # Dropout moves the log-probabilities between two forward passes of one model.
        ({"attention_dropout": 0.5}, 0.02),
    ],
    ids=["plain", "adapter", "bfloat16", "dropout"],
)
def test_at_the_first_step_u_is_one_whatever_was_stored_or_it_is_said_once(tmp_path, caplog, settings, bound):
    config, dropout = tiny_llama(tmp_path / "model") / "config.json", "attention_dropout" in settings
    config.write_text(json.dumps({**json.loads(config.read_text()), "attention_dropout": 0.5 * dropout}))
    given = {**REHEARSAL, "rehearsal": buffer(shift=2.0), "log_u_tolerance": bound, **settings}
    given.pop("attention_dropout", None)
    run = trainer(tmp_path / "model", tmp_path, eta=0.5, **given)
    before = weights(run)
    run.train()
    largest = [log["rehearsal/log_u_max_abs"] for log in run.state.log_history[:4]]
    assert (largest[0] > bound) == dropout
    assert largest[3] > bound
    assert run.state.log_history[0]["rehearsal/stored_gap_max_abs"] > 0.1
    assert caplog.text.count("|log u| is") == dropout
    changed = {name for name, value in weights(run).items() if not torch.equal(before[name], value)}
    assert changed
    assert all(("lora" in name) == ("peft_config" in settings) for name in changed)


def test_generation_is_cut_to_so_many_rows_at_once(model, tmp_path, monkeypatch):
    """Eight rows are generated at a time: two micro-batches of four."""
    run, seen = trainer(model, tmp_path, generation_rows=3, max_steps=1), []
    generate = run.model.generate

    def noted(input_ids, **others):
        seen.append(len(input_ids))
        return generate(input_ids, **others)

    monkeypatch.setattr(run.model, "generate", noted)
    run.train()
    assert seen == [3, 3, 2]
    assert run.state.log_history[0]["completions/mean_length"] > 0


def test_evaluation_does_not_rehearse(model, tmp_path):
    run = trainer(model, tmp_path, eta=0.1, per_device_eval_batch_size=4, **REHEARSAL)
    run.evaluate(eval_dataset=run.train_dataset.select(range(2)))
    assert not any("rehearsal" in name for log in run.state.log_history for name in log)
