import importlib
import json
import math
import os
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch
from support.rule_task import ruled_task, stage_inputs
from support.tiny_training import (
    PROMPTS,
    SETTINGS,
    TRL_WARNS,
    StopAfter,
    buffer,
    checkpoint,
    even_reward,
    same,
    trainer,
    weights,
)
from transformers import TrainerCallback
from trl.trainer.utils import RepeatSampler

from dph_theory.support.errors import RefusedError
from full_scale.recipe.schema import MethodConfig
from full_scale.storage.tensors import hash_files
from full_scale.tasks.protocol import bound_to
from full_scale.training.judging import VerifierReward
from full_scale.training.online import OnlineConfig, OnlineTrainer
from full_scale.training.resume import COMPLETE, FILES, FREE, ReplayedSampler, course, last_checkpoint
from full_scale.training.train import build_trainer
from full_scale.training.trainer import DPHConfig

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)
OWN_CODE = """
from dph_theory import FORWARD_KL as F
def reward(completions, **columns):
    return [1.0] * len(completions)
"""
CYCLE = {"steps_per_generation": 4, "num_iterations": 2, "eta": 0.1, "learning_rate": 1e-3}
CYCLE |= {"rehearsal": buffer(), "rehearsal_rows": 7}
"""Each generated batch serves four optimizer steps, so that most steps lie inside a cycle."""


def repeated(shuffle):
    return RepeatSampler(range(9), mini_repeat_count=2, batch_size=2, repeat_count=2, shuffle=shuffle, seed=5)


@pytest.mark.parametrize("shuffle", [True, False])
def test_an_epochs_order_does_not_depend_on_the_epochs_iterated_before(shuffle):
    unbroken = repeated(shuffle)
    epochs = [list(unbroken) for _ in range(4)]
    for epoch in (0, 3, 1):
        assert list(ReplayedSampler(repeated(shuffle), lambda epoch=epoch: epoch)) == epochs[epoch]
    assert len(ReplayedSampler(unbroken, lambda: 0)) == len(unbroken)
    # The sampler alone starts anew in a new process.
    assert (list(repeated(shuffle)) == epochs[3]) == (not shuffle)


@pytest.mark.slow
def test_a_resumed_run_is_the_unbroken_run_bit_for_bit(model, tmp_path):
    """Stopped in the second epoch; checkpoints wait for a generated batch to end."""
    settings = {**CYCLE, "save_strategy": "steps", "save_steps": 11, "max_steps": 15, "two_backward": True}
    unbroken = trainer(model, tmp_path / "unbroken", **settings)
    unbroken.train()
    trainer(model, tmp_path / "stopped", callbacks=[StopAfter(13)], **settings).train()
    start = last_checkpoint(tmp_path / "stopped")
    assert start.name == "checkpoint-12"
    resumed = trainer(model, tmp_path / "stopped", **settings)
    resumed.train(resume_from_checkpoint=str(start))
    assert same(weights(unbroken), weights(resumed))


@pytest.mark.slow
def test_resuming_under_other_settings_or_with_another_buffer_is_refused(model, tmp_path, caplog):
    settings = {**CYCLE, "save_strategy": "steps", "save_steps": 2, "max_steps": 2}
    trainer(model, tmp_path, **settings).train()
    start = Path(checkpoint(tmp_path, 2))
    for change, named in (
        ({"rehearsal": buffer(seed=1)}, "rehearsal"),
        ({"eta": 0.2}, "eta"),
        ({"prompts": PROMPTS[::-1]}, "train_dataset"),
    ):
        changed = trainer(model, tmp_path, **{**settings, **change})
        with pytest.raises(ValueError, match=rf"^{named}=.*resume with it or start anew"):
            changed.train(resume_from_checkpoint=str(start))
    # Sums in another number of parts: it goes on, and says what that means.
    stored = json.loads((start / COMPLETE).read_text())
    (start / COMPLETE).write_text(json.dumps({**stored, "threads": 99}))
    trainer(model, tmp_path, **settings).train(resume_from_checkpoint=str(start))
    assert "99 threads" in caplog.text
    (start / COMPLETE).unlink()
    with pytest.raises(RefusedError, match=COMPLETE):
        trainer(model, tmp_path, **settings).train(resume_from_checkpoint=str(start))


@pytest.mark.slow
def test_old_checkpoints_go_when_the_new_one_is_whole_and_saving_may_change(model, tmp_path, monkeypatch):
    settings = {**CYCLE, "save_strategy": "steps", "save_steps": 1, "num_iterations": 1, "max_steps": 8}
    run, save = trainer(model, tmp_path, save_total_limit=2, **settings), OnlineTrainer._save_place

    def full(self, folder):
        if folder.name == "checkpoint-8":
            raise OSError(28, "No space left on device")
        save(self, folder)

    with monkeypatch.context() as patch:
        patch.setattr(OnlineTrainer, "_save_place", full)
        with pytest.raises(OSError, match="No space left"):
            run.train()
    # The one that failed has cost none that is whole.
    whole = [path.parent.name for path in sorted(tmp_path.glob(f"checkpoint-*/{COMPLETE}"))]
    assert whole == ["checkpoint-4", "checkpoint-6"]
    assert last_checkpoint(tmp_path).name == "checkpoint-6"
    resumed = trainer(model, tmp_path, save_total_limit=1, logging_first_step=True, **settings)
    resumed.train(resume_from_checkpoint=checkpoint(tmp_path, 6))
    assert [path.name for path in tmp_path.glob("checkpoint-*")] == ["checkpoint-8"]
    assert resumed.args.save_total_limit == 1


def test_what_is_carried_counted_and_not_yet_logged_comes_back(model, tmp_path):
    first, second = (trainer(model, tmp_path) for _ in range(2))
    first._metrics["train"]["reward"] += [0.25, 0.75]
    first._step, first._total_train_tokens, first._seconds = 5, 77, 1000.0
    first.carried = {"fallen": 2.0}
    for run in (first, second):
        run.reward_funcs = [VerifierReward(ruled_task())]
    first.reward_funcs[0].outcomes.update({"wrong", "timeout"})
    first._save_place(tmp_path)
    second._load_place(tmp_path)
    assert second.seconds > 1000
    assert second.reward_funcs[0].outcomes == {"wrong", "timeout"}
    assert second._metrics["train"] == {"reward": [0.25, 0.75]}
    assert (second._step, second._total_train_tokens, second.carried) == (5, 77, {"fallen": 2.0})


def test_the_last_checkpoint_is_the_last_whole_one_and_a_damaged_one_is_told(tmp_path, caplog):
    assert last_checkpoint(tmp_path) is None
    for step in (2, 9, 10, 11):
        path = tmp_path / f"checkpoint-{step}"
        path.mkdir()
        (path / "model.safetensors").write_bytes(b"x" * 10)
        hashes = {"model.safetensors": hash_files([path / "model.safetensors"])}
        (path / COMPLETE).write_text(json.dumps({FILES: hashes}))
    (tmp_path / "checkpoint-11" / COMPLETE).unlink()
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-10"
    # As many bytes as before: a size says nothing.
    (tmp_path / "checkpoint-10" / "model.safetensors").write_bytes(b"y" * 10)
    (tmp_path / "checkpoint-9" / "model.safetensors").unlink()
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-2"
    for told in ("checkpoint-10 is damaged", "model.safetensors has changed", "model.safetensors is gone"):
        assert told in caplog.text
    (tmp_path / "checkpoint-2" / COMPLETE).write_text("half")
    with pytest.raises(
        RefusedError, match=r"no whole checkpoint in .*\(checkpoint-10, .*remove it, and run dph train"
    ):
        last_checkpoint(tmp_path)


def test_checkpoints_go_by_their_steps_whatever_the_clock_says(model, tmp_path):
    for step in (1, 2, 90):
        path = tmp_path / f"checkpoint-{step}"
        path.mkdir()
        os.utime(path, (4e9, 4e9))
    settings = {"save_strategy": "steps", "save_steps": 3, "save_total_limit": 1, "max_steps": 3}
    trainer(model, tmp_path, **settings).train()
    assert [path.name for path in tmp_path.glob("checkpoint-*")] == ["checkpoint-3"]


class Spoil(TrainerCallback):
    """Makes a weight of the model NaN at a step, as a step too long does."""

    def __init__(self, step):
        self.step = step

    def on_optimizer_step(self, args, state, control, model=None, **others):
        if state.global_step == self.step - 1:
            with torch.no_grad():
                next(model.parameters())[0] = math.nan


def test_a_diverged_training_ends_in_words_and_leaves_no_checkpoint_of_it(model, tmp_path):
    settings = {"save_strategy": "steps", "save_steps": 1, "max_steps": 4, "save_total_limit": 1}
    with pytest.raises(RefusedError, match=r"diverged at step 3: .*NaN or inf, with learning_rate=0.01"):
        trainer(model, tmp_path, callbacks=[Spoil(3)], **settings).train()
    assert last_checkpoint(tmp_path).name == "checkpoint-2"
    with pytest.raises(RefusedError, match=r"diverged at step 2: the probabilities .* learning_rate=1e\+18"):
        trainer(model, tmp_path / "large", learning_rate=1e18, **settings).train()
    other = tmp_path / "other"
    run = trainer(model, other, **settings, rehearsal=buffer(), eta=0.1)
    run._reference = lambda rows: rows.ref_logps * math.inf
    with pytest.raises(RefusedError, match=r"step 1: the loss is -inf, with .*eta=0.1, divergence="):
        run.train()
    assert last_checkpoint(other) is None


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("adapter", "model.lora=.*800"),
        ("reward", "reward_funcs="),
        ("divergence", "divergence code="),
        ("imported", "divergence code=.*module own_part"),
        ("file", "divergence code=.*module _own_own_code"),
        ("versions", "versions=.*9.9"),
        ("optimizer", "cannot be read"),
    ],
)
def test_a_run_of_other_code_settings_or_files_is_not_resumed(model, tmp_path, monkeypatch, change, named):
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("own_code", "own_part", "_own_own_code"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    code, part, folder = tmp_path / "own_code.py", tmp_path / "own_part.py", tmp_path / "run"
    part.write_text("")
    code.write_text(f"import own_part\n{OWN_CODE}")
    own_code = importlib.import_module("own_code")
    settings = {"save_strategy": "steps", "save_steps": 1, "max_steps": 2, "eta": 0.1, "rehearsal": buffer()}
    settings |= {"reward": {"reward": own_code.reward}.get(change, even_reward)}
    own = {"divergence": "own_code:F", "imported": "own_code:F", "file": f"{code}:F"}
    settings |= {"divergence": own.get(change, "forward_kl")}

    def run(alpha):
        made = trainer(model, folder, **settings)
        made.bound = {"model.lora": {"lora_alpha": alpha}}
        return made

    run(8).train()
    if change in ("reward", "divergence", "file"):
        code.write_text(OWN_CODE + "# changed")
    if change == "imported":
        part.write_text("# changed")
    if change == "versions":
        monkeypatch.setattr("full_scale.training.resume.versions", lambda *names: {"torch": "9.9"})
    if change == "optimizer":
        (folder / "checkpoint-2" / "optimizer.pt").write_bytes(b"garbled")
        assert last_checkpoint(folder).name == "checkpoint-1"
    with pytest.raises((ValueError, RefusedError), match=named):
        run(800 if change == "adapter" else 8).train(resume_from_checkpoint=checkpoint(folder, 2))


def test_a_recipes_adapter_its_rewards_and_its_model_are_of_the_run(tmp_path):
    recipe, *given = stage_inputs(tmp_path, MethodConfig())
    adapted = replace(recipe, model=replace(recipe.model, lora={"r": 2, "lora_alpha": 8}))
    courses = []
    for alpha in (8, 800):
        lora = {**adapted.model.lora, "lora_alpha": alpha}
        one = replace(adapted, model=replace(adapted.model, lora=lora))
        courses.append(build_trainer(one, *given).course())
    assert {name for name in courses[0] if courses[0][name] != courses[1][name]} == {"model.lora"}
    assert courses[0]["reward_funcs"] == [bound_to(given[0].verifier)] != [{}]
    assert courses[0]["model_hash"] == given[-1].model
    assert {"torch", "transformers", "trl"} <= courses[0]["versions"].keys()


def test_cut_otherwise_a_training_goes_on_where_a_generated_batch_ended_or_draws_the_rest_anew(
    model, tmp_path, caplog
):
    """One generated batch serves four optimizer steps, and a finished training may end within."""
    settings = {**CYCLE, "save_strategy": "steps", "save_steps": 1, "max_steps": 5}
    trainer(model, tmp_path, **settings).train()
    assert {path.name for path in tmp_path.glob("checkpoint-*")} == {"checkpoint-4", "checkpoint-5"}
    other = {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 1, "steps_per_generation": 2}
    for step in (4, 5):
        caplog.clear()
        resumed = trainer(model, tmp_path, **{**settings, **other, "max_steps": 6, "save_strategy": "no"})
        resumed.train(resume_from_checkpoint=checkpoint(tmp_path, step))
        assert (resumed.state.global_step, resumed._step) == (6, 6)
        assert ("drawn anew" in caplog.text) == (step == 5)


def config(folder, **changes):
    return OnlineConfig(output_dir=str(folder), **{**SETTINGS, **changes})


def test_settings_belong_to_the_course_but_for_those_that_move_no_weight(tmp_path):
    plain = course(config(tmp_path))
    for name, value in (
        ("entropy_coef", 0.1),
        ("disable_dropout", True),
        ("generation_kwargs", {"min_p": 0.1}),
        ("lr_scheduler_kwargs", {"num_cycles": 2}),
        ("online_beta", 0.3),
        ("vllm_importance_sampling_correction", False),
    ):
        changed = course(config(tmp_path, **{name: value}))
        assert {key for key in plain if plain[key] != changed[key]} == {name}
    # The length counts where the learning rate depends on it.
    for schedule, counts in (("constant", False), ("linear", True), ("cosine", True)):
        runs = [course(config(tmp_path, lr_scheduler_type=schedule, max_steps=n)) for n in (4, 5)]
        assert (runs[0] != runs[1]) == counts
    assert {field.name for field in fields(OnlineConfig)} >= FREE
    moves_none = {"two_backward", "log_u_tolerance", "collapse_every", "step_in_logits", "keep_moments"}
    assert {*DPHConfig.__annotations__, *OnlineConfig.__annotations__} - set(plain) == moves_none
