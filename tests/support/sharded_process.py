"""A process of a data-parallel training on CPUs: plain, sharded by FSDP2, or by DeepSpeed.

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
from full_scale.training.resume import export
from full_scale.training.train import build_trainer, train
from support.rule_task import TRAIN, stage_inputs
from support.tiny_training import StopAfter

LORA = {"r": 4, "target_modules": ["v_proj", "up_proj"]}
CASES = {
    "DPH-F": (MethodConfig(name="DPH-F", rehearsal_rows=3), None),
    "RKL": (MethodConfig(name="RKL"), None),
    "KL control": (MethodConfig(name="KL-control-sequence", beta=0.2), None),
    "LoRA": (MethodConfig(name="DPH-JS", rehearsal_rows=3), LORA),
    "two backward": (MethodConfig(name="DPH-F", rehearsal_rows=3, two_backward=True), None),
}
"""Method and adapter of each training."""
STEPS, STOP = 3, 2
DEEPSPEED = os.environ.get("ACCELERATE_USE_DEEPSPEED") == "true"


def sharded():
    """Have accelerate shard as the packaged launch file says, on CPUs: it does so on accelerators only."""
    config = yaml.safe_load((RECIPES / "launch" / "fsdp2.yaml").read_text())["fsdp_config"]
    os.environ |= {name.upper(): str(value) for name, value in config.items()} | {
        "ACCELERATE_USE_FSDP": "true"
    }
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


def inputs(case, folder):
    """What the training stage is given for a case."""
    method, lora = CASES[case]
    settings = TRAIN | {"max_steps": STEPS, "optim": "sgd", "learning_rate": 0.1}
    if DEEPSPEED:
        # With it accelerate does not look at its launcher; DeepSpeed finds that there are CPUs alone.
        del settings["use_cpu"]
    recipe, *given = stage_inputs(folder, method, model={"lora": lora}, **settings)
    name = case.replace(" ", "-")
    return replace(recipe, name=name, output=str(folder / "runs")), *given


def small_steps(folder, dtype="bfloat16", lora=None):
    """Ten steps of AdamW at 1e-6, the published setting; the model is stored as it trained."""
    settings = TRAIN | {"max_steps": 10, "learning_rate": 1e-6, "lr_scheduler_type": "constant"}
    method = MethodConfig(name="DPH-F", rehearsal_rows=3)
    recipe, *given = stage_inputs(folder, method, model={"dtype": dtype, "lora": lora}, **settings)
    recipe = replace(recipe, output=str(folder / "runs"))
    run = build_trainer(recipe, *given)
    run.train()
    export(run, Folders.of(recipe).model)
    return recipe, *given


def main(what, folder):
    """plain: every case to its end; killed: stopped after a step, the last by a kill; resumed: goes on.

    steps, sharded steps: `small_steps`.
    """
    torch.set_num_threads(1)
    if what not in ("plain", "steps") and not DEEPSPEED:
        sharded()
    if "steps" in what:
        small_steps(folder)
        torch.distributed.destroy_process_group()
        return
    cases = [case for case in CASES if not (DEEPSPEED and CASES[case][0].two_backward)]
    for case in cases:
        given = inputs(case, folder)
        if what == "killed":
            trainer = build_trainer(*given)
            trainer.add_callback(KillAfter() if case == cases[-1] else StopAfter(STOP))
            trainer.train()
        else:
            train(*given)
    # A process that ends with the group alive may abort, and torchrun then ends the other.
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
