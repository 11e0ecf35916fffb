"""Stages on the ruled task in worlds that differ in one input each, run by fresh processes that may die."""

import json
import os
import random
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

from safetensors.torch import load_file, save_file

import full_scale.stages
from dph_theory.support.errors import RefusedError
from dph_theory.support.processes import prepared, run_jobs
from full_scale.models.load import model_hash
from full_scale.recipe.folders import Folders
from support.interrupted_stage import STAGES, stage_recipe
from support.rule_task import ruled_task

WORLDS = ("whole", "weights", "config", "data")
"""Names of the worlds: all as it was, or with other weights, another configuration, or other references."""
KILLED = "killed"
_OTHER_BOUNDS = (16, 8, 15, 4, 16, 10, 12, 3)
_MODEL = "model.safetensors"


@dataclass(frozen=True)
class Attempt:
    """One stage in a world; the process dies when its progress is told the `at`-th time, if ever."""

    stage: str
    place: Path
    output: Path
    world: str
    at: int = 0


def attempted(attempt: Attempt) -> str:
    """Run the stage, and return the words of a refusal, or nothing."""
    bounds = {"bounds": _OTHER_BOUNDS} if attempt.world == "data" else {}
    full_scale.stages.load_task = lambda config: ruled_task(**bounds)
    calls = []

    def die(*told):
        calls.append(told)
        if len(calls) == attempt.at:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        recipe = stage_recipe(attempt.place, attempt.output)
        getattr(full_scale.stages, f"{attempt.stage}_stage")(recipe, die)
    except (ValueError, RefusedError) as error:
        return str(error) or "refused"
    return ""


def finished(folders: Folders) -> dict:
    """What each finished stage left, times and places aside."""
    paths = {"presample": folders.presample / "presample.json", "train": folders.training}
    paths["evaluate"] = folders.evaluation
    results = {
        stage: json.loads(path.read_text())["results"] for stage, path in paths.items() if path.exists()
    }
    if "train" in results:
        log = [
            (entry["step"], entry.get("reward"), entry["rehearsal/loss"]) for entry in results["train"]["log"]
        ]
        results["train"] = model_hash(folders.model), log
    return results


class Shuffle:
    """A place with one model, whose files and whose runs are disturbed in random order."""

    def __init__(self, place: Path) -> None:
        self.place, self.context = place, prepared("support.shuffled_stages", "full_scale.training.train")
        stage_recipe(place, place / "none")
        model = place / "model"
        self.originals = {path.name: path.read_bytes() for path in model.iterdir()}
        config = json.loads(self.originals["config.json"])
        weights = load_file(model / _MODEL)
        name = sorted(weights)[0]
        save_file({**weights, name: weights[name] * 1.5}, place / "other", {"format": "pt"})
        self.changed = {
            "weights": {_MODEL: (place / "other").read_bytes()},
            "config": {"config.json": json.dumps(config | {"rms_norm_eps": 0.1}).encode()},
        }
        self.references = {world: self.undisturbed(world) for world in WORLDS}

    def enter(self, world: str) -> None:
        """Put the files of the world in place."""
        for name, data in (self.originals | self.changed.get(world, {})).items():
            (self.place / "model" / name).write_bytes(data)

    def run(self, stage: str, output: Path, world: str, at: int = 0) -> str:
        """The words of a refusal, KILLED, or nothing, from a fresh process."""
        self.enter(world)
        jobs = [Attempt(stage, self.place, output, world, at)]
        ends = run_jobs(attempted, jobs, one_torch_thread=True, on_death=_death, context=self.context)
        return next(end for _, end in ends)

    def undisturbed(self, world: str) -> dict:
        """The results of every stage in one world."""
        output = self.place / f"undisturbed-{world}"
        assert [self.run(stage, output, world) for stage in STAGES] == [""] * len(STAGES)
        return finished(Folders.of_recipe(stage_recipe(self.place, output)))

    def disturbed(self, seed: int, actions: int = 9) -> list[tuple[str, str, str]]:
        """World, action and end of each of so many random actions; AssertionError if a number differs."""
        chosen, output, world, ends = random.Random(seed), self.place / f"shuffle-{seed}", "whole", []
        folders = Folders.of_recipe(stage_recipe(self.place, output))
        for _ in range(actions):
            stage = chosen.choice(STAGES)
            action = chosen.choice(("stage", "stage", "kill", "kill", "world", "tear", "model", "anew"))
            if action == "world":
                world = chosen.choice(WORLDS)
            elif action == "tear":
                for path in sorted(output.rglob("*.jsonl")):
                    path.write_bytes(path.read_bytes()[: -chosen.randrange(1, 40)])
            elif action == "model" and (folders.model / _MODEL).exists():
                (folders.model / _MODEL).write_bytes(self.originals[_MODEL])
            elif action == "anew":
                shutil.rmtree(output, ignore_errors=True)
            at = chosen.randrange(1, 8) if action == "kill" else 0
            end = self.run(stage, output, world, at)
            ends.append((world, f"{action}, {stage}", end))
            if not end:
                assert finished(folders)[stage] == self.references[world][stage], (seed, ends)
        return ends


def _death(attempt: Attempt, error: BaseException) -> str:
    if attempt.at:
        return KILLED
    raise error
