"""Processes that run one stage on the ruled task, killed when its progress is told the n-th time."""

import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import full_scale.stages
from full_scale.recipe.schema import MethodConfig
from full_scale.training.course import threads
from support.rule_task import TRAIN, ruled_recipe, ruled_task

ROOT = Path(__file__).parents[2]
STAGES = ("presample", "train", "evaluate")


def stage_recipe(place, output, processes=1):
    """DPH-F for five steps, two on each generated batch; models lie in `place`, what stages make in `output`.

    However many processes there are, a step has the same rollouts.
    """
    settings = {"max_steps": 5, "steps_per_generation": 4, "num_generations": 8}
    settings |= {
        "keep_moments": True,
        "per_device_train_batch_size": 4 // processes,
        "lr_scheduler_type": "constant",
    }
    method = MethodConfig(name="DPH-F", rehearsal_rows=3)
    return replace(ruled_recipe(Path(place)), output=str(output), train=TRAIN | settings, method=method)


def run_stage(stage, recipe, progress=lambda *told: None):
    full_scale.stages.load_task = lambda config: ruled_task()
    return getattr(full_scale.stages, f"{stage}_stage")(recipe, progress)


def started(stage, place, output, at=0, processes=1):
    """The exit status and what was said by `processes`, which die at their `at`-th telling, if any."""
    # Bit for bit the same takes the same number of threads.
    environment = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "OMP_NUM_THREADS": str(threads())}
    launch = []
    if processes > 1:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        launch = ["-m", "torch.distributed.run", "--nproc_per_node", str(processes), "--master_port", port]
    given = map(str, (stage, place, output, at, processes))
    ended = subprocess.run(
        [sys.executable, *launch, __file__, *given],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
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
