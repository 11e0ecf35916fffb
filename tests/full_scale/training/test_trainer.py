import json
import logging

import pytest
import torch
from peft import LoraConfig
from support.launched import TORCHRUN, launched
from support.tiny_llama import tiny_llama
from support.tiny_training import (
    PROMPTS,
    TRL_WARNS,
    Gradients,
    buffer,
    distance,
    even_reward,
    ragged_rows,
    same,
    trainer,
    weights,
)
from support.training_process import REHEARSED, first_gradient
from support.whole_rehearsal import full_gradient, full_loss
from transformers import AutoModelForCausalLM, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from dph_theory import DIVERGENCES, alpha_divergence
from full_scale.models import versions
from full_scale.presampling.buffer import rehearsal_rows
from full_scale.training import trainer as page
from full_scale.training.online import OnlineConfig
from full_scale.training.trainer import DPHConfig

pytestmark = [pytest.mark.filterwarnings(TRL_WARNS), pytest.mark.slow]
GRADIENTS_AGREE = 5e-7


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_llama(tmp_path_factory.mktemp("tiny") / "model")


class Snapshots(TrainerCallback):
    """The weights after every step."""

    def __init__(self):
        self.weights = []

    def on_step_end(self, args, state, control, model=None, **others):
        self.weights.append({name: value.detach().clone() for name, value in model.state_dict().items()})


def test_without_eta_weights_and_rollouts_are_those_of_grpo(model, tmp_path):
    runs = []
    for name, kind, config, extra in (
        ("grpo", GRPOTrainer, GRPOConfig, {}),
        ("dph", None, OnlineConfig, {"eta": 0.0, "rehearsal": buffer()}),
    ):
        seen = []

        def reward(completions, seen=seen, **columns):
            seen.append(list(completions))
            return even_reward(completions)

        given = {"kind": kind} if kind else {}
        # Ten steps of an epoch of four: the order of the prompts in later epochs counts too.
        run = trainer(model, tmp_path / name, config=config, reward=reward, max_steps=10, **given, **extra)
        run.train()
        runs.append((weights(run), seen))
    assert same(runs[0][0], runs[1][0])
    assert runs[0][1] == runs[1][1]
    assert len(runs[0][1]) == 10


@pytest.mark.parametrize(
    "settings",
    [
        {"divergence": "forward_kl"},
        {"divergence": "forward_kl", "rehearsal_reduction": "sequence_mean"},
        {"divergence": "jensen_shannon", "gauge": "normalised"},
        {"divergence": "alpha", "alpha": 0.2, "rehearsal_level": "sequence"},
        {"divergence": "reverse_kl", "gauge": 0.5, "rehearsal_reduction": "sum"},
    ],
    ids=str,
)
def test_the_logged_loss_is_that_of_the_theory_on_the_steps_rows(model, tmp_path, settings):
    snapshots = Snapshots()
    run = trainer(
        model,
        tmp_path,
        eta=0.3,
        rehearsal=buffer(),
        rehearsal_rows=9,
        callbacks=[snapshots],
        max_steps=2,
        **settings,
    )
    run.train()
    policy = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    policy.load_state_dict(snapshots.weights[0])
    rows = [ragged_rows()[i] for i in rehearsal_rows(run.args.seed, 1, 13, 9)]
    divergence = alpha_divergence(0.2) if "alpha" in settings else DIVERGENCES[settings["divergence"]]
    expected = full_loss(
        policy,
        model,
        rows,
        settings.get("rehearsal_reduction", "token_mean"),
        divergence=divergence,
        level=settings.get("rehearsal_level", "token"),
        gauge=settings.get("gauge", "printed"),
    ).item()
    assert abs(expected) > 1e-3
    assert run.state.log_history[1]["rehearsal/loss"] == pytest.approx(expected, rel=2e-5)


def test_a_released_form_is_the_audited_loss_and_has_no_slope_at_the_start(model, tmp_path):
    snapshots = Snapshots()
    run = trainer(
        model,
        tmp_path,
        eta=0.3,
        rehearsal=buffer(),
        rehearsal_rows=9,
        rehearsal_form="released_forward",
        callbacks=[snapshots],
        max_steps=2,
    )
    run.train()
    policy = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    policy.load_state_dict(snapshots.weights[0])
    rows = [ragged_rows()[i] for i in rehearsal_rows(run.args.seed, 1, 13, 9)]
    # u - 1 - log u is the forward KL's generator in the gauge without slope at u = 1.
    expected = full_loss(
        policy, model, rows, "token_mean", divergence=DIVERGENCES["forward_kl"], gauge="normalised"
    )
    assert run.state.log_history[0]["rehearsal/loss"] == pytest.approx(0, abs=1e-9)
    assert run.state.log_history[1]["rehearsal/loss"] == pytest.approx(expected.item(), rel=2e-5)
    assert expected > 1e-6


def test_the_gradient_is_that_of_all_rows_at_once_however_they_are_split(model, tmp_path):
    rows = [ragged_rows()[i] for i in rehearsal_rows(42, 0, 13, 11)]
    expected = full_gradient(model, rows)
    for i, settings in enumerate(
        (
            {"gradient_accumulation_steps": 1},
            {"gradient_accumulation_steps": 4},
            {"gradient_accumulation_steps": 8},
            {"steps_per_generation": 4},
            {"num_iterations": 2},
            {"two_backward": True, "gradient_accumulation_steps": 1},
            {"gradient_checkpointing": True},
        )
    ):
        assert distance(expected, first_gradient(model, tmp_path / str(i), **settings)) < GRADIENTS_AGREE, (
            settings
        )
    by_row = first_gradient(model, tmp_path / "rows", rehearsal_reduction="sequence_mean")
    assert distance(full_gradient(model, rows, "sequence_mean"), by_row) < GRADIENTS_AGREE


def test_the_mean_of_the_micro_batches_means_is_another_gradient(model):
    rows = [ragged_rows()[i] for i in rehearsal_rows(42, 0, 13, 11)]
    parts = [full_gradient(model, rows[m::4]) for m in range(4)]
    naive = {name: sum(part[name] for part in parts) / 4 for name in parts[0]}
    assert distance(full_gradient(model, rows), naive) > 0.05


@pytest.fixture(scope="module")
def two_processes(model, tmp_path_factory):
    """What tests/support/training_process.py finds with two processes over gloo."""
    folder = tmp_path_factory.mktemp("two")
    tiny_llama(folder / "model")
    settings = {**REHEARSED, "save_strategy": "steps", "save_steps": 2, "rehearsal": buffer()}
    whole = trainer(folder / "model", folder / "moved" / "one", max_steps=4, **settings)
    whole.train()
    torch.save(weights(whole), folder / "moved" / "whole.pt")
    done = launched("training_process.py", folder, by=TORCHRUN)
    assert done.returncode == 0, done.stderr[-4000:]
    said = [json.loads((folder / f"said-{rank}.json").read_text()) for rank in (0, 1)]
    return said, torch.load(folder / "gradients.pt", weights_only=True)


def test_two_processes_have_the_gradient_of_one(model, two_processes):
    said, gradients = two_processes
    assert [each["world"] for each in said] == [2, 2]
    expected = {
        count: full_gradient(model, [ragged_rows()[i] for i in rehearsal_rows(42, 0, 13, count)])
        for count in (5, 11)
    }
    for name, gradient in gradients.items():
        assert distance(expected[5 if "fewer" in name else 11], gradient) < GRADIENTS_AGREE, name


def test_two_processes_put_the_groups_that_they_share_together(two_processes):
    assert [each["groups"] for each in two_processes[0]] == [True, True]


def test_two_processes_go_on_with_what_one_began(two_processes):
    assert [each["moved"] for each in two_processes[0]] == [True, True]


def test_clipped_ratios_of_all_processes_are_counted(two_processes):
    assert [each["clipped"] for each in two_processes[0]] == [True, True]


def test_eta_scales_the_gradient_and_adds_to_the_explorations(model, tmp_path):
    def gradient(name, **settings):
        seen = Gradients()
        trainer(model, tmp_path / name, callbacks=[seen], max_steps=1, max_grad_norm=0.0, **settings).train()
        return seen.steps[0]

    explored, rows = gradient("explored"), [ragged_rows()[i] for i in rehearsal_rows(42, 0, 13, 9)]
    both = gradient("both", eta=0.25, rehearsal=buffer(), rehearsal_rows=9)
    rehearsed = full_gradient(model, rows)
    sums = {name: explored[name] + 0.25 * rehearsed[name] for name in both}
    assert distance(sums, both) < GRADIENTS_AGREE


def test_at_the_first_step_u_is_one_whatever_was_stored(model, tmp_path, caplog):
    run = trainer(model, tmp_path, eta=0.1, rehearsal=buffer(shift=2.0), rehearsal_rows=9, max_steps=2)
    with caplog.at_level(logging.WARNING, logger="full_scale.training.metrics"):
        run.train()
    first, second = run.state.log_history[:2]
    assert first["rehearsal/log_u_max_abs"] < 1e-5 < second["rehearsal/log_u_max_abs"]
    assert first["rehearsal/stored_gap_max_abs"] > 0.1
    assert not caplog.records


def test_where_u_is_not_one_at_the_first_step_it_is_said(tmp_path, caplog):
    folder = tiny_llama(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    # Dropout moves the log-probabilities between two forward passes of one model.
    (folder / "config.json").write_text(json.dumps({**config, "attention_dropout": 0.5}))
    settings = {"eta": 0.1, "rehearsal": buffer(), "rehearsal_rows": 9, "max_steps": 1}
    settings["gradient_accumulation_steps"] = 4
    for tolerance, warned in ((100.0, False), (0.02, True)):
        run = trainer(folder, tmp_path / str(tolerance), log_u_tolerance=tolerance, **settings)
        with caplog.at_level(logging.WARNING, logger="full_scale.training.metrics"):
            run.train()
        assert run.state.log_history[0]["rehearsal/log_u_max_abs"] > 0.02
        # One warning, not one a micro-step.
        assert caplog.text.count("|log u| is") == warned


def test_lora_trains_the_adapter_alone_from_u_equal_to_one(model, tmp_path):
    run = trainer(
        model,
        tmp_path,
        eta=0.5,
        rehearsal=buffer(),
        rehearsal_rows=9,
        gradient_checkpointing=True,
        peft_config=LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
    )
    before = weights(run)
    run.train()
    after = weights(run)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all("lora" in name for name in changed)
    assert (
        run.state.log_history[0]["rehearsal/log_u_max_abs"]
        < 1e-5
        < run.state.log_history[3]["rehearsal/log_u_max_abs"]
    )


def test_bfloat16_is_computed_in_and_trains_no_weight_of_its_own(model, tmp_path):
    settings = {"eta": 0.5, "rehearsal": buffer(), "rehearsal_rows": 9, "bf16": True}
    run = trainer(model, tmp_path, **settings)
    run.train()
    logs = run.state.log_history[:4]
    assert logs[0]["rehearsal/log_u_max_abs"] < 0.1
    assert all(0 < log["grad_norm"] < 100 for log in logs)
    assert abs(logs[3]["rehearsal/loss"]) > 1e-3
    with pytest.raises(ValueError, match=r"dtype of .*=torch\.bfloat16.*float32"):
        trainer(model, tmp_path, dtype=torch.bfloat16, **settings)


@pytest.mark.parametrize("rows", [3, 4])
def test_generation_is_cut_to_so_many_rows_at_once(model, tmp_path, rows, monkeypatch):
    """Eight rows are generated at a time: two micro-batches of four."""
    run = trainer(model, tmp_path, generation_rows=rows, max_steps=1)
    seen, generate = [], run.model.generate
    monkeypatch.setattr(
        run.model,
        "generate",
        lambda input_ids, **others: seen.append(len(input_ids)) or generate(input_ids, **others),
    )
    run.train()
    assert seen == ([3, 3, 2] if rows == 3 else [4, 4])
    assert run.state.log_history[0]["completions/mean_length"] > 0


@pytest.mark.parametrize(("rows", "expected"), [(None, 8), (3, 3)])
def test_half_as_many_rows_are_rehearsed_as_a_step_has_rollouts(model, tmp_path, monkeypatch, rows, expected):
    drawn = []
    monkeypatch.setattr(
        page, "rehearsal_rows", lambda *given: drawn.append(given[-1]) or rehearsal_rows(*given)
    )
    settings = {"gradient_accumulation_steps": 4, "rehearsal_rows": rows, "max_steps": 1}
    trainer(model, tmp_path, eta=0.1, rehearsal=buffer(), **settings).train()
    assert set(drawn) == {expected}


def test_evaluation_does_not_rehearse(model, tmp_path):
    run = trainer(
        model, tmp_path, eta=0.1, rehearsal=buffer(), rehearsal_rows=9, per_device_eval_batch_size=4
    )
    run.evaluate(eval_dataset=run.train_dataset.select(range(2)))
    assert not any("rehearsal" in name for log in run.state.log_history for name in log)


def test_other_versions_of_trl_are_refused(model, tmp_path, monkeypatch):
    monkeypatch.setattr(versions, "_installed", lambda name: "0.9.9")
    with pytest.raises(RuntimeError, match=r"found trl 0\.9\.9"):
        trainer(model, tmp_path)


def test_every_setting_of_the_rehearsal_that_moves_the_weights_belongs_to_the_course(model, tmp_path):
    moves_none = {"two_backward", "log_u_tolerance", "collapse_every", "step_in_logits"}
    moves_none |= {"keep_moments", "export_float32"}
    course, own = (
        trainer(model, tmp_path).course(),
        {**DPHConfig.__annotations__, **OnlineConfig.__annotations__},
    )
    assert {name for name in own if name not in course} == moves_none


def test_eta_needs_a_buffer(model, tmp_path):
    for rehearsal, told in ((None, "None"), (buffer(count=0), "RehearsalBuffer of 0 rows")):
        with pytest.raises(ValueError, match=rf"rehearsal={told}.*eta=0\.1"):
            trainer(model, tmp_path, eta=0.1, rehearsal=rehearsal)
    assert len(PROMPTS) == 8
