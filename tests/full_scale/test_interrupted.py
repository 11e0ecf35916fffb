"""Every stage, interrupted in every way, ends with what it would have ended with."""

import json
import shutil

import pytest
from support.interrupted_stage import STAGES, run_stage, stage_recipe, started
from support.tiny_training import TRL_WARNS

import full_scale.stages
from full_scale.models.load import model_hash
from full_scale.recipe.folders import Folders

pytestmark = pytest.mark.filterwarnings(TRL_WARNS)
AT = {"presample": 2, "train": 5, "evaluate": 6}
"""The telling at which a stage is stopped, in the middle; an evaluation's in that of the trained model."""


class StopError(Exception):
    pass


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The stages done without a stop, and in `before-<stage>` what each began with."""
    folder, kept = tmp_path_factory.mktemp("whole"), full_scale.stages.load_task
    recipe = stage_recipe(folder, folder / "whole")
    (folder / "whole").mkdir()
    for stage in STAGES:
        shutil.copytree(folder / "whole", folder / f"before-{stage}")
        run_stage(stage, recipe)
    yield folder
    full_scale.stages.load_task = kept


def begun(place, stage, output, processes=1):
    """The recipe of an output folder where what comes before the stage is done."""
    shutil.copytree(place / f"before-{stage}", output)
    return stage_recipe(place, output, processes)


def ended(stage, recipe):
    """What a finished stage leaves, times and places aside."""
    folders = Folders.of_recipe(recipe)
    path = {"presample": folders.presample / "presample.json", "train": folders.training}
    found = json.loads(path.get(stage, folders.evaluation).read_text())["results"]
    if stage != "train":
        return found
    log = [(entry["step"], entry.get("reward"), entry["rehearsal/loss"]) for entry in found["log"]]
    return model_hash(folders.model), log


def tear(stage, recipe):
    """Cut off what was being written: a line of the journals, or the last checkpoint and half of a model."""
    folders = Folders.of_recipe(recipe)
    if stage == "train":
        last = max(folders.checkpoints.glob("checkpoint-*"))
        (last / "model.safetensors").write_bytes(b"half")
        (folders.run_folder / "model.part").mkdir()
        (folders.run_folder / "model.part" / "model.safetensors").write_bytes(b"half")
        (folders.checkpoints / "checkpoint-5").mkdir()
        (folders.checkpoints / "checkpoint-5" / "model.safetensors").write_bytes(b"half")
        return
    for path in (folders.presample if stage == "presample" else folders.run_folder).glob("*.jsonl"):
        path.write_bytes(path.read_bytes()[:-7])


@pytest.mark.parametrize("stage", STAGES)
def test_stopped_and_torn_it_goes_on_to_the_same_result(place, tmp_path, stage):
    recipe, told, again = begun(place, stage, tmp_path / "runs"), [], []

    def stop(*what):
        told.append(what)
        if len(told) == AT[stage]:
            raise StopError

    with pytest.raises(StopError):
        run_stage(stage, recipe, stop)
    tear(stage, recipe)
    run_stage(stage, recipe, lambda *what: again.append(what))
    assert ended(stage, recipe) == ended(stage, stage_recipe(place, place / "whole"))
    # Only what was torn is done again; of a training, what followed the last whole checkpoint.
    assert stage != "train" or len(again) == 3
    for path in (tmp_path / "runs").rglob("*.jsonl"):
        keys = [json.loads(line)["key"] for line in path.read_text().splitlines()[1:]]
        assert len(set(keys)) == len(keys), path


@pytest.mark.slow
@pytest.mark.parametrize("then", [2, 1])
@pytest.mark.parametrize("stage", STAGES)
def test_two_processes_killed_go_on_to_the_same_result_as_two_or_as_one(place, tmp_path, stage, then):
    """A training on other processes than it began on draws its rollouts anew: it is held to its end alone."""
    recipe = begun(place, stage, tmp_path / "runs", 2)
    _, said = started(stage, place, recipe.output, AT[stage] - 1, processes=2)
    assert "exitcode  : -9" in said, said[-3000:]
    status, said = started(stage, place, recipe.output, processes=then)
    assert status == 0, said[-3000:]
    whole = stage_recipe(place, place / "whole")
    if stage == "train":
        whole = begun(place, stage, tmp_path / "whole", then)
        assert started(stage, place, whole.output, processes=then)[0] == 0
    found, expected = ended(stage, recipe), ended(stage, whole)
    if stage == "train" and then == 1:
        found, expected = ([step for step, *_ in log] for _, log in (found, expected))
    assert found == expected
