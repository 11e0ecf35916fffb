"""Two processes that train on CPUs: by plain data parallelism, sharded by FSDP2, or by DeepSpeed.

torchrun starts the first two, accelerate launch the third.
"""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import torch
import yaml
from accelerate import PartialState
from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin
from transformers import TrainerCallback

from full_scale.recipe.folders import Folders
from full_scale.recipe.schema import RECIPES, MethodConfig
from full_scale.training.collapse_meter import STEP, CollapseMeter
from full_scale.training.online import OnlineTrainer
from full_scale.training.resume import export
from full_scale.training.train import build_trainer, train
from support.rule_task import TRAIN, stage_inputs
from support.tiny_training import REHEARSED, StopAfter, checkpoint, gradient_gap, trainer, weights

LORA = {"r": 4, "target_modules": ["v_proj", "up_proj"]}
CASES = {
    "DPH-F": (MethodConfig(name="DPH-F", rehearsal_rows=3), None),
    "KL control": (MethodConfig(name="KL-control-sequence", beta=0.2), None),
    "LoRA": (MethodConfig(name="DPH-JS", rehearsal_rows=3), LORA),
    "two backward": (MethodConfig(name="DPH-F", rehearsal_rows=3, two_backward=True), None),
}
"""Method and adapter of each training."""
STEPS, STOP = 3, 2
SMALL = {"max_steps": 3, "learning_rate": 1e-6, "lr_scheduler_type": "constant", "optim": "adamw_torch"}
"""AdamW at the published rate."""
DEEPSPEED = os.environ.get("ACCELERATE_USE_DEEPSPEED") == "true"
RATES = {f"p{i}": 0.4 for i in range(8)}


def sharded():
    """Have accelerate shard as the packaged launch file says, on CPUs: it does so on accelerators only."""
    config = yaml.safe_load((RECIPES / "launch" / "fsdp2.yaml").read_text())["fsdp_config"]
    os.environ |= {name.upper(): str(value) for name, value in config.items()}
    os.environ["ACCELERATE_USE_FSDP"] = "true"
    init, check = PartialState.__init__, FullyShardedDataParallelPlugin.__post_init__

    def told(self, *args, **kwargs):
        init(self, *args, **kwargs)
        if self.distributed_type == DistributedType.MULTI_CPU:
            self.distributed_type = DistributedType.MULTI_XPU

    def checked(self):
        # It asks for the number of a device, which FSDP2 has no use for.
        with (
            patch("accelerate.utils.dataclasses.is_cuda_available", lambda: True),
            patch("torch.cuda.current_device", lambda: 0),
        ):
            check(self)

    PartialState.__init__, FullyShardedDataParallelPlugin.__post_init__ = told, checked


class KillAfter(TrainerCallback):
    """Dies without a word after the checkpoint of a step."""

    def on_step_begin(self, args, state, control, **others):
        if state.global_step == STOP:
            os.kill(os.getpid(), signal.SIGKILL)


def inputs(case, folder, dtype="float32", **changes):
    """What the training stage is given for a case."""
    method, lora = CASES[case]
    settings = TRAIN | {"max_steps": STEPS, "optim": "sgd", "learning_rate": 0.1} | changes
    if DEEPSPEED:
        # With it accelerate does not look at its launcher; DeepSpeed finds that there are CPUs alone.
        del settings["use_cpu"]
    recipe, *given = stage_inputs(folder, method, model={"lora": lora, "dtype": dtype}, **settings)
    # For each token that is drawn, every layer is gathered.
    sampling = replace(recipe.sampling, max_new_tokens=4)
    name = f"{case.replace(' ', '-')}-{dtype}"
    return replace(recipe, name=name, output=str(folder / "runs"), sampling=sampling), *given


def small_steps(folder):
    """In bfloat16; the model is stored as it trained."""
    recipe, *given = inputs("DPH-F", folder, "bfloat16", **SMALL)
    run = build_trainer(recipe, *given)
    run.train()
    export(run, Folders.of_recipe(recipe).model)


class SequenceKL(OnlineTrainer):
    """At beta = 0 its advantages are TRL's, which are centred by all of the group."""

    def _sequence_kl(self, samples):
        found = super()._sequence_kl(samples)
        assert torch.allclose(found.float(), samples["advantages"] * 4 / 3, atol=1e-6)
        return found


def as_one_process_does(folder):
    """The rehearsal's gradient; groups of four, two on each process; a training that one process began."""
    model, cut = folder / "model", {"per_device_train_batch_size": 2, "scale_rewards": "none"}
    for settings, rows in (
        ({"gradient_accumulation_steps": 2}, 11),
        ({"two_backward": True}, 11),
        # Fewer rows than shares.
        ({"gradient_accumulation_steps": 4, "rehearsal_rows": 5}, 5),
    ):
        assert gradient_gap(model, folder / f"gradient {rows}", rows, **settings) < 5e-7, settings
    assert torch.distributed.get_world_size() == 2
    run = trainer(model, folder / "groups", kind=SequenceKL, max_steps=3, online="sequence_kl", **cut)
    CollapseMeter(RATES, step=True).attach(run, run.reference)
    run.train()
    logs = [log for log in run.state.log_history if "loss" in log]
    assert all(abs(log["collapse/pass_rate"] - log["reward"]) < 1e-6 for log in logs)
    assert any(STEP in log for log in logs)
    # Every right answer's ratio is clipped, on either process.
    dpg = {"online": "alpha_dpg", "alpha": 0.5, "ratio_clip": 1e-30, "steps_per_generation": 2, **cut}
    run = trainer(model, folder / "clipped", max_steps=2, base_rates=RATES, **dpg)
    run.train()
    logs = [log for log in run.state.log_history if "loss" in log]
    assert all(log["alpha_dpg/clipped"] == round(8 * log["reward"]) for log in logs)
    ended = trainer(model, folder / "one", gradient_accumulation_steps=1, **REHEARSED)
    ended.train(resume_from_checkpoint=checkpoint(folder / "one", 2))
    whole = torch.load(folder / "whole.pt")
    found = {name.removeprefix("module."): value for name, value in weights(ended).items()}
    assert all(torch.allclose(found[name], whole[name], atol=1e-5) for name in whole)


def main(what, folder):
    """plain: all that one process does, and every case; killed: stopped after a step, the last by a kill;
    resumed: goes on, and takes small steps.
    """
    if what == "plain":
        as_one_process_does(folder)
    elif not DEEPSPEED:
        sharded()
    cases = [case for case in CASES if not (DEEPSPEED and CASES[case][0].two_backward)]
    for case in cases:
        given = inputs(case, folder)
        if what == "killed":
            run = build_trainer(*given)
            run.add_callback(KillAfter() if case == cases[-1] else StopAfter(STOP))
            run.train()
        else:
            train(*given)
    if what == "resumed" and not DEEPSPEED:
        small_steps(folder)
    # A process that ends with the group alive may abort, and torchrun then ends the other.
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
