import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from support.rule_task import ruled_task
from support.tiny_llama import tiny_llama
from support.tiny_training import PROMPTS, TRL_WARNS, StopAfter, buffer, checkpoint, same, trainer, weights
from support.training_process import CYCLE, resumed_is_unbroken
from trl import GRPOConfig, GRPOTrainer
from trl.trainer.utils import RepeatSampler

from full_scale.training.course import threads
from full_scale.training.judging import VerifierReward
from full_scale.training.online import OnlineTrainer
from full_scale.training.resume import COMPLETE, SIZES, ReplayedSampler, last_checkpoint

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)
ROOT = Path(__file__).parents[3]
PROCESS = str(ROOT / "tests" / "support" / "training_process.py")


def repeated(shuffle=True):
    data = Dataset.from_list([{"x": i} for i in range(9)])
    return RepeatSampler(data, mini_repeat_count=2, batch_size=2, repeat_count=2, shuffle=shuffle, seed=5)


@pytest.mark.parametrize("shuffle", [True, False])
def test_an_epochs_order_does_not_depend_on_the_epochs_iterated_before(shuffle):
    unbroken = repeated(shuffle)
    epochs = [list(unbroken) for _ in range(4)]
    for epoch in (0, 3, 1):
        assert list(ReplayedSampler(repeated(shuffle), lambda epoch=epoch: epoch)) == epochs[epoch]
    assert len(ReplayedSampler(unbroken, lambda: 0)) == len(unbroken)
    # The sampler alone starts anew in a new process.
    assert (list(repeated(shuffle)) == epochs[3]) == (not shuffle)


def test_the_last_checkpoint_is_the_last_complete_one(tmp_path):
    assert last_checkpoint(tmp_path) is None
    for step, complete in ((9, True), (10, True), (11, False)):
        (tmp_path / f"checkpoint-{step}").mkdir()
        if complete:
            (tmp_path / f"checkpoint-{step}" / COMPLETE).write_text("{}")
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-10"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_llama(tmp_path_factory.mktemp("tiny") / "model")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stop", "settings"),
    [(3, {}), (4, {}), (5, {"prompts": PROMPTS[:4]}), (6, {"num_iterations": 1, "two_backward": True})],
    ids=["mid-cycle", "between cycles", "second epoch, mid-cycle", "two backward"],
)
def test_a_resumed_run_is_the_unbroken_run_bit_for_bit(model, tmp_path, stop, settings):
    assert resumed_is_unbroken(model, tmp_path, stop, max_steps=stop + 3, **settings)


@pytest.mark.slow
def test_without_these_hooks_a_resumed_run_is_another(model, tmp_path):
    settings = {"kind": GRPOTrainer, "config": GRPOConfig, "steps_per_generation": 4, "num_iterations": 2}
    settings |= {"save_strategy": "steps", "save_steps": 3, "max_steps": 6}
    unbroken = trainer(model, tmp_path / "unbroken", **settings)
    unbroken.train()
    trainer(model, tmp_path / "stopped", callbacks=[StopAfter(3)], **settings).train()
    resumed = trainer(model, tmp_path / "stopped", **settings)
    resumed.train(resume_from_checkpoint=checkpoint(tmp_path / "stopped", 3))
    assert not same(weights(unbroken), weights(resumed))


@pytest.mark.slow
def test_resuming_under_other_settings_or_with_another_buffer_is_refused(model, tmp_path, caplog):
    settings = {**CYCLE, "save_strategy": "steps", "save_steps": 2, "max_steps": 2}
    trainer(model, tmp_path, rehearsal=buffer(), **settings).train()
    start = checkpoint(tmp_path, 2)
    for change, named in (
        ({"rehearsal": buffer(seed=1)}, "rehearsal"),
        ({"eta": 0.2}, "eta"),
        ({"learning_rate": 2e-3}, "learning_rate"),
        ({"seed": 7}, "seed"),
        ({"gauge": "normalised"}, "gauge"),
        ({"rehearsal_rows": 8}, "rehearsal_rows"),
        ({"prompts": PROMPTS[::-1]}, "train_dataset"),
        ({"entropy_coef": 0.01}, "entropy_coef"),
        ({"top_entropy_quantile": 0.5}, "top_entropy_quantile"),
        ({"disable_dropout": True}, "disable_dropout"),
        ({"generation_kwargs": {"min_new_tokens": 2}}, "generation_kwargs"),
    ):
        changed = trainer(model, tmp_path, **{"rehearsal": buffer(), **settings, **change})
        with pytest.raises(ValueError, match=rf"^{named}=.*resume with it or start anew"):
            changed.train(resume_from_checkpoint=start)
    # Sums in another number of parts: it goes on, and says what that means.
    stored = json.loads(Path(start, COMPLETE).read_text())
    Path(start, COMPLETE).write_text(json.dumps({**stored, "threads": 99}))
    longer = trainer(model, tmp_path, rehearsal=buffer(), **settings)
    longer.train(resume_from_checkpoint=start)
    assert "99 threads" in caplog.text
    Path(start, COMPLETE).unlink()
    with pytest.raises(ValueError, match=COMPLETE):
        trainer(model, tmp_path, rehearsal=buffer(), **settings).train(resume_from_checkpoint=start)


@pytest.mark.slow
def test_logging_and_saving_may_change_and_old_checkpoints_go_when_the_new_one_is_whole(model, tmp_path):
    settings = {**CYCLE, "save_strategy": "steps", "save_steps": 1, "rehearsal": buffer(), "max_steps": 4}
    trainer(model, tmp_path, save_total_limit=2, callbacks=[StopAfter(3)], **settings).train()
    assert sorted(path.name for path in tmp_path.glob("checkpoint-*")) == ["checkpoint-2", "checkpoint-3"]
    assert json.loads((tmp_path / "checkpoint-3" / COMPLETE).read_text())["eta"] == "0.1"
    resumed = trainer(model, tmp_path, save_total_limit=1, logging_first_step=True, **settings)
    resumed.train(resume_from_checkpoint=checkpoint(tmp_path, 3))
    assert [path.name for path in tmp_path.glob("checkpoint-*")] == ["checkpoint-4"]
    assert resumed.args.save_total_limit == 1


def test_metrics_not_yet_logged_and_tokens_counted_come_back(model, tmp_path):
    first, second = (trainer(model, tmp_path) for _ in range(2))
    first._metrics["train"]["reward"] += [0.25, 0.75]
    first._step, first._total_train_tokens = 5, 77
    first._seconds = 1000.0
    for run in (first, second):
        run.reward_funcs = [VerifierReward(ruled_task())]
    first.reward_funcs[0].outcomes.update({"wrong", "timeout"})
    first._save_cycle(tmp_path)
    second._load_cycle(tmp_path)
    assert second.seconds > 1000
    assert second.reward_funcs[0].outcomes == {"wrong", "timeout"}
    assert second._metrics["train"] == {"reward": [0.25, 0.75]}
    assert (second._step, second._total_train_tokens, second._buffered_inputs) == (5, 77, None)


@pytest.mark.slow
def test_a_checkpoint_that_fails_costs_none_that_is_whole(model, tmp_path, monkeypatch):
    settings = {**CYCLE, "save_strategy": "steps", "save_steps": 1, "save_total_limit": 1, "max_steps": 3}
    run, save = trainer(model, tmp_path, rehearsal=buffer(), **settings), OnlineTrainer._save_cycle

    def full(self, folder):
        if folder.name == "checkpoint-2":
            raise OSError(28, "No space left on device")
        save(self, folder)

    monkeypatch.setattr(OnlineTrainer, "_save_cycle", full)
    with pytest.raises(OSError, match="No space left"):
        run.train()
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-1"


@pytest.mark.slow
def test_a_finished_run_resumed_takes_no_further_step(model, tmp_path):
    settings = {**CYCLE, "save_strategy": "steps", "save_steps": 5, "rehearsal": buffer(), "max_steps": 5}
    finished = trainer(model, tmp_path, **settings)
    finished.train()
    again = trainer(model, tmp_path, **settings)
    again.train(resume_from_checkpoint=checkpoint(tmp_path, 5))
    assert again.state.global_step == 5
    assert same(weights(finished), weights(again))


def worker(folder, step):
    return subprocess.run(
        [sys.executable, PROCESS, "kill", str(folder), str(step)],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "OMP_NUM_THREADS": str(threads())},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_weights(model, tmp_path):
    tiny_llama(tmp_path / "model")
    killed = worker(tmp_path, 3)
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-3000:]
    assert last_checkpoint(tmp_path / "run").name == "checkpoint-2"
    # As if it had been killed once more, while it wrote the next checkpoint.
    (tmp_path / "run" / "checkpoint-4").mkdir()
    (tmp_path / "run" / "checkpoint-4" / "model.safetensors").write_bytes(b"half")
    finished = worker(tmp_path, -1)
    assert finished.returncode == 0, finished.stderr[-3000:]
    unbroken = trainer(tmp_path / "model", tmp_path / "unbroken", rehearsal=buffer(), max_steps=6, **CYCLE)
    unbroken.train()
    assert same(weights(unbroken), torch.load(tmp_path / "weights.pt", weights_only=True))


def checkpoints(folder, *steps):
    """Complete checkpoints of one file each."""
    for step in steps:
        path = folder / f"checkpoint-{step}"
        path.mkdir()
        (path / "model.safetensors").write_bytes(b"x" * 10)
        (path / COMPLETE).write_text(json.dumps({SIZES: {"model.safetensors": 10}}))


def test_a_damaged_checkpoint_is_told_and_the_one_before_it_is_taken(tmp_path, caplog):
    checkpoints(tmp_path, 2, 9, 10)
    (tmp_path / "checkpoint-10" / "model.safetensors").write_bytes(b"half")
    (tmp_path / "checkpoint-9" / "model.safetensors").unlink()
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-2"
    assert "checkpoint-10 is damaged" in caplog.text
    assert "model.safetensors has 4 bytes of 10" in caplog.text
    assert "model.safetensors is gone" in caplog.text
    (tmp_path / "checkpoint-2" / COMPLETE).write_text("half")
    with pytest.raises(ValueError, match=r"checkpoints=\['checkpoint-10', .*remove .* to train from the beg"):
        last_checkpoint(tmp_path)


def test_cut_otherwise_a_training_goes_on_where_a_generated_batch_ended(model, tmp_path):
    """One generated batch serves four steps: cut into other micro-steps, it can be left only after."""
    settings = {**CYCLE, "save_strategy": "steps", "save_steps": 1, "save_total_limit": 9}
    settings |= {"max_steps": 6, "rehearsal": buffer()}
    trainer(model, tmp_path, callbacks=[StopAfter(5)], **settings).train()
    other = {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 1, "steps_per_generation": 2}
    resumed = trainer(model, tmp_path, **{**settings, **other})
    with pytest.raises(ValueError, match="lies within a generated batch"):
        resumed.train(resume_from_checkpoint=checkpoint(tmp_path, 5))
    resumed = trainer(model, tmp_path, **{**settings, **other})
    resumed.train(resume_from_checkpoint=checkpoint(tmp_path, 4))
    assert resumed.state.global_step == 6
