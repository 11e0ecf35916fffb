"""Two processes train as one does, sharded as plain; what they store; small steps move the weights."""

import json
import signal
from importlib.util import find_spec

import pytest
import torch
from safetensors.torch import load_file
from support.launched import TORCHRUN, launched
from support.rule_task import stage_inputs
from support.tiny_llama import tiny_llama
from support.tiny_training import REHEARSED, TRL_WARNS, trainer, weights
from support.two_processes import CASES, LORA, SMALL
from transformers import AutoModelForCausalLM

from full_scale.recipe.folders import Folders
from full_scale.recipe.schema import RECIPES
from full_scale.training.train import train

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings(TRL_WARNS)]
DEEPSPEED = (
    *("-m", "accelerate.commands.launch", "--config_file", str(RECIPES / "launch" / "deepspeed-zero3.yaml")),
    *("--num_processes", "2", "--mixed_precision", "no", "--main_process_port"),
)
"""The packaged launch file but for the number of devices and bfloat16."""
NO_DEEPSPEED = pytest.mark.skipif(find_spec("deepspeed") is None, reason="deepspeed is not installed")


def of_sixteen_bits(folder):
    """A model whose numbers are ones of bfloat16, as published ones are: to round them changes nothing."""
    tiny = tiny_llama(folder / "model", hidden=16, scale=2.0)
    AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.bfloat16).save_pretrained(tiny)
    return tiny


def trained(folder, case, dtype="float32"):
    name = f"{case.replace(' ', '-')}-{dtype}"
    return load_file(next((folder / "runs").glob(f"{name}-seed*/model/*.safetensors")))


def moved(found, folder):
    """How far each weight has moved; an adapter's second factors begin at zero, its first are left out."""
    initial = load_file(folder / "model" / "model.safetensors")
    return {name: (w - initial.get(name, 0)).abs() for name, w in found.items() if "lora_A" not in name}


def share_that_moved(found, folder):
    far = torch.cat([each.flatten() for each in moved(found, folder).values()])
    return (far > 0).float().mean().item()


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The folder of the trainings by plain data parallelism; that they are one process's is said there."""
    folder = tmp_path_factory.mktemp("plain")
    whole = trainer(of_sixteen_bits(folder), folder / "one", **REHEARSED)
    whole.train()
    torch.save(weights(whole), folder / "whole.pt")
    done = launched("two_processes.py", "plain", folder, by=TORCHRUN)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


@pytest.mark.parametrize(
    "launch", [TORCHRUN, pytest.param(DEEPSPEED, marks=NO_DEEPSPEED)], ids=["fsdp2", "zero3"]
)
def test_sharded_killed_and_resumed_it_exports_the_model_of_plain_data_parallelism(plain, tmp_path, launch):
    """To 1e-6, of trainings that move the weights by a thousand times as much."""
    of_sixteen_bits(tmp_path)
    killed, resumed = (
        launched("two_processes.py", what, tmp_path, by=launch) for what in ("killed", "resumed")
    )
    # The kernel's kill of one process is no failure of the test.
    assert f"exitcode  : {-signal.SIGKILL}" in killed.stderr, killed.stderr[-4000:]
    assert resumed.returncode == 0, resumed.stderr[-4000:]
    for case in [case for case in CASES if launch == TORCHRUN or case != "two backward"]:
        found, expected = trained(tmp_path, case), trained(plain, case)
        assert found.keys() == expected.keys()
        assert max((found[name] - expected[name]).abs().max() for name in found) < 1e-6, case
        assert max(far.max() for far in moved(expected, plain).values()) > 1e-3, case
    assert launch != TORCHRUN or share_that_moved(trained(tmp_path, "DPH-F", "bfloat16"), tmp_path) > 0.8


@pytest.mark.parametrize("lora", [None, LORA], ids=["whole", "adapter"])
def test_small_steps_move_the_weights_and_a_model_is_stored_in_its_own_dtype(tmp_path, lora):
    """Weights of bfloat16 themselves would stay: of them less than a hundredth moves."""
    of_sixteen_bits(tmp_path)
    model = {"dtype": "bfloat16", "lora": lora}
    recipe, *given = stage_inputs(tmp_path, CASES["DPH-F"][0], model=model, keep_moments=True, **SMALL)
    train(recipe, *given)
    run = Folders.of_recipe(recipe)
    masters = load_file(next((run.checkpoints / "checkpoint-3").glob("*model.safetensors")))
    assert {value.dtype for value in masters.values()} == {torch.float32}
    assert share_that_moved(masters, tmp_path) > 0.8
    stored = load_file(next(run.model.glob("*.safetensors")))
    assert all(torch.equal(stored[name], w if lora else w.bfloat16()) for name, w in masters.items())
    assert lora or json.loads((run.model / "config.json").read_text())["dtype"] == "bfloat16"
