"""A process that runs one stage on the ruled task, and is killed when its progress is told the n-th time."""

import os
import signal
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


def stage_recipe(place, output):
    """DPH-F for three steps; models lie in `place`, what stages make in `output`."""
    method = MethodConfig(name="DPH-F", rehearsal_rows=3)
    return replace(
        ruled_recipe(Path(place)), output=str(output), train=TRAIN | {"keep_moments": True}, method=method
    )


def run_stage(stage, recipe, progress=lambda *told: None):
    full_scale.stages.load_task = lambda config: ruled_task()
    return getattr(full_scale.stages, f"{stage}_stage")(recipe, progress)


def killed(stage, place, output, at):
    """The exit status and what was said by a process of its own that dies at the `at`-th telling."""
    # Bit for bit the same takes the same number of threads.
    environment = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "OMP_NUM_THREADS": str(threads())}
    ended = subprocess.run(
        [sys.executable, __file__, stage, str(place), str(output), str(at)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stderr


def _main(stage, place, output, at):
    calls = []

    def die(*told):
        calls.append(told)
        if len(calls) == int(at):
            os.kill(os.getpid(), signal.SIGKILL)

    run_stage(stage, stage_recipe(place, output), die)


if __name__ == "__main__":
    _main(*sys.argv[1:])
