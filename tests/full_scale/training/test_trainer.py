import json
import logging

import pytest
import torch
from peft import LoraConfig
from support.launched import TORCHRUN, launched
from support.tiny_llama import tiny_llama
from support.tiny_training import (
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
        {"rehearsal_reduction": "sequence_mean", "rehearsal_rows": None},
        {"divergence": "jensen_shannon", "gauge": "normalised"},
        {"divergence": "alpha", "alpha": 0.2, "rehearsal_level": "sequence"},
        {"divergence": "reverse_kl", "gauge": 0.5, "rehearsal_reduction": "sum"},
        {"rehearsal_form": "released_forward"},
    ],
    ids=str,
)
def test_the_logged_loss_is_that_of_the_theory_on_the_steps_rows(model, tmp_path, settings):
    snapshots, settings = Snapshots(), {"rehearsal_rows": 9, **settings}
    run = trainer(
        model, tmp_path, eta=0.3, rehearsal=buffer(), callbacks=[snapshots], max_steps=2, **settings
    )
    run.train()
    policy = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    policy.load_state_dict(snapshots.weights[0])
    # Half as many rows as a step has rollouts, unless told.
    rows = [ragged_rows()[i] for i in rehearsal_rows(run.args.seed, 1, 13, settings["rehearsal_rows"] or 4)]
    # The released u - 1 - log u is the forward KL's generator in the gauge without slope at u = 1.
    gauge = settings.get("gauge", "normalised" if "rehearsal_form" in settings else "printed")
    expected = full_loss(
        policy,
        model,
        rows,
        settings.get("rehearsal_reduction", "token_mean"),
        divergence=alpha_divergence(0.2) if "alpha" in settings else DIVERGENCES[run.args.divergence],
        level=run.args.rehearsal_level,
        gauge=gauge,
    ).item()
    first, second = (log["rehearsal/loss"] for log in run.state.log_history[:2])
    assert abs(expected) > 1e-6
    assert second == pytest.approx(expected, rel=2e-5)
    assert gauge != "normalised" or first == pytest.approx(0, abs=1e-9)


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


def test_two_processes_train_as_one_does(model, two_processes):
    said, gradients = two_processes
    assert said == [{"world": 2, "groups": True, "clipped": True, "moved": True}] * 2
    for name, gradient in gradients.items():
        rows = rehearsal_rows(42, 0, 13, 5 if "fewer" in name else 11)
        expected = full_gradient(model, [ragged_rows()[i] for i in rows])
        assert distance(expected, gradient) < GRADIENTS_AGREE, name


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


ADAPTER = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")


@pytest.mark.parametrize(
    ("settings", "bound"),
    [({}, 1e-5), ({"peft_config": ADAPTER, "gradient_checkpointing": True}, 1e-5), ({"bf16": True}, 0.1)],
    ids=["plain", "adapter", "bfloat16"],
)
def test_at_the_first_step_u_is_one_whatever_was_stored(model, tmp_path, caplog, settings, bound):
    given = {"eta": 0.5, "rehearsal": buffer(shift=2.0), "rehearsal_rows": 9, **settings}
    run = trainer(model, tmp_path, log_u_tolerance=bound, **given)
    before = weights(run)
    run.train()
    largest = [log["rehearsal/log_u_max_abs"] for log in run.state.log_history[:4]]
    assert largest[0] < bound < largest[3]
    assert run.state.log_history[0]["rehearsal/stored_gap_max_abs"] > 0.1
    assert not any("|log u|" in record.message for record in caplog.records)
    changed = {name for name, value in weights(run).items() if not torch.equal(before[name], value)}
    assert changed
    assert all(("lora" in name) == ("peft_config" in settings) for name in changed)


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


def test_generation_is_cut_to_so_many_rows_at_once(model, tmp_path, monkeypatch):
    """Eight rows are generated at a time: two micro-batches of four."""
    run = trainer(model, tmp_path, generation_rows=3, max_steps=1)
    seen, generate = [], run.model.generate
    monkeypatch.setattr(
        run.model,
        "generate",
        lambda input_ids, **others: seen.append(len(input_ids)) or generate(input_ids, **others),
    )
    run.train()
    assert seen == [3, 3, 2]
    assert run.state.log_history[0]["completions/mean_length"] > 0


def test_evaluation_does_not_rehearse(model, tmp_path):
    run = trainer(
        model, tmp_path, eta=0.1, rehearsal=buffer(), rehearsal_rows=9, per_device_eval_batch_size=4
    )
    run.evaluate(eval_dataset=run.train_dataset.select(range(2)))
    assert not any("rehearsal" in name for log in run.state.log_history for name in log)


def test_every_setting_of_the_rehearsal_that_moves_the_weights_belongs_to_the_course(model, tmp_path):
    moves_none = {"two_backward", "log_u_tolerance", "collapse_every", "step_in_logits", "keep_moments"}
    course, own = (
        trainer(model, tmp_path).course(),
        {**DPHConfig.__annotations__, **OnlineConfig.__annotations__},
    )
    assert {name for name in own if name not in course} == moves_none


def test_what_cannot_be_trained_is_refused(model, tmp_path, monkeypatch):
    for rehearsal, told in ((None, "None"), (buffer(count=0), "RehearsalBuffer of 0 rows")):
        with pytest.raises(ValueError, match=rf"rehearsal={told}.*eta=0\.1"):
            trainer(model, tmp_path, eta=0.1, rehearsal=rehearsal)
    with pytest.raises(ValueError, match=r"dtype of .*=torch\.bfloat16.*float32"):
        trainer(model, tmp_path, dtype=torch.bfloat16)
    monkeypatch.setattr(versions, "_installed", lambda name: "0.9.9")
    with pytest.raises(RuntimeError, match=r"found trl 0\.9\.9"):
        trainer(model, tmp_path)
