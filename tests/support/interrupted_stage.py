"""Processes that run one stage on the ruled task, killed when its progress is told the n-th time."""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import torch

import full_scale.stages
from full_scale.recipe.schema import MethodConfig
from support.launched import TORCHRUN, launched
from support.rule_task import TRAIN, ruled_recipe, ruled_task

STAGES = ("presample", "train", "evaluate")


def stage_recipe(place, output, processes=1):
    """DPH-F for five steps, two on each generated batch; models lie in `place`, what stages make in `output`.

    However many processes there are, a step has the same rollouts.
    """
    settings = {"max_steps": 5, "steps_per_generation": 4, "num_generations": 8, "keep_moments": True}
    settings |= {"per_device_train_batch_size": 4 // processes, "lr_scheduler_type": "constant"}
    method = MethodConfig(name="DPH-F", rehearsal_rows=3)
    return replace(ruled_recipe(Path(place)), output=str(output), train=TRAIN | settings, method=method)


def run_stage(stage, recipe, progress=lambda *told: None):
    full_scale.stages.load_task = lambda config: ruled_task()
    return getattr(full_scale.stages, f"{stage}_stage")(recipe, progress)


def started(stage, place, output, at=0, processes=1):
    """The exit status and what was said by `processes`, one or two, which die at their `at`-th telling."""
    given = (stage, place, output, at, processes)
    # Bit for bit the same takes the same number of threads.
    threads, launcher = str(torch.get_num_threads()), TORCHRUN if processes > 1 else ()
    ended = launched("interrupted_stage.py", *given, by=launcher, OMP_NUM_THREADS=threads)
    return ended.returncode, ended.stderr


def _main(stage, place, output, at, processes):
    calls = []

    def die(*told):
        calls.append(told)
        if len(calls) == int(at):
            os.kill(os.getpid(), signal.SIGKILL)

    run_stage(stage, stage_recipe(place, output, int(processes)), die)


if __name__ == "__main__":
    _main(*sys.argv[1:])
