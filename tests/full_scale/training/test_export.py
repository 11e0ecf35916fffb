import json
import signal
from importlib.util import find_spec

import pytest
import torch
from safetensors.torch import load_file
from support.launched import TORCHRUN, launched
from support.rule_task import stage_inputs
from support.sharded_process import CASES, small_steps
from support.tiny_llama import tiny_llama
from support.tiny_training import TRL_WARNS
from transformers import AutoModelForCausalLM

from full_scale.recipe.folders import Folders
from full_scale.recipe.schema import RECIPES, MethodConfig
from full_scale.training.train import train

DEEPSPEED = (
    *("-m", "accelerate.commands.launch", "--config_file", str(RECIPES / "launch" / "deepspeed-zero3.yaml")),
    *("--num_processes", "2", "--mixed_precision", "no", "--main_process_port"),
)
"""The packaged launch file but for the number of devices and bfloat16."""


def two_processes(what, folder, launch=TORCHRUN):
    """What two processes said; the kernel's kill of one of them is no failure of the test."""
    if not (folder / "model").exists():
        tiny_llama(folder / "model", hidden=16, scale=2.0)
    return launched("sharded_process.py", what, folder, by=launch)


def weights(folder, case):
    found = (folder / "runs").glob(f"{case.replace(' ', '-')}-seed*/model/*.safetensors")
    return load_file(next(found))


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The folder of the trainings by plain data parallelism."""
    folder = tmp_path_factory.mktemp("plain")
    done = two_processes("plain", folder)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


def assert_equal(folder, plain, cases):
    """The same names and, to 1e-6, the same weights, which the training has moved."""
    initial = load_file(plain / "model" / "model.safetensors")
    for case in cases:
        found, expected = weights(folder, case), weights(plain, case)
        assert found.keys() == expected.keys()
        assert max((found[name] - expected[name]).abs().max() for name in found) < 1e-6, case
        # An adapter begins at no effect: its second factor is zero.
        moved = {n: (w - initial.get(n, 0)).abs().max() for n, w in expected.items() if "lora_A" not in n}
        assert max(moved.values()) > 1e-3, case


NO_DEEPSPEED = pytest.mark.skipif(
    find_spec("deepspeed") is None, reason="the extra deepspeed is not installed"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "launch", [TORCHRUN, pytest.param(DEEPSPEED, marks=NO_DEEPSPEED)], ids=["fsdp2", "zero3"]
)
def test_sharded_killed_and_resumed_it_exports_the_model_of_plain_data_parallelism(plain, tmp_path, launch):
    killed = two_processes("killed", tmp_path, launch)
    assert f"exitcode  : {-signal.SIGKILL}" in killed.stderr, killed.stderr[-4000:]
    resumed = two_processes("resumed", tmp_path, launch)
    assert resumed.returncode == 0, resumed.stderr[-4000:]
    assert_equal(tmp_path, plain, [case for case in CASES if launch == TORCHRUN or case != "two backward"])


def of_sixteen_bits(folder):
    """A model whose numbers are ones of bfloat16, as published ones are: to round them changes nothing."""
    tiny = tiny_llama(folder / "model", hidden=16, scale=2.0)
    AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.bfloat16).save_pretrained(tiny)


def share_that_moved(folder):
    """Of the trained weights; of an adapter, of its second factors, which begin at zero."""
    found = load_file(next((folder / "runs").glob("run-seed*/model/*.safetensors")))
    initial = load_file(folder / "model" / "model.safetensors")
    moved = [found[name] != initial.get(name, 0) for name in found if "lora_A" not in name]
    return sum(each.sum().item() for each in moved) / sum(each.numel() for each in moved)


@pytest.mark.slow
@pytest.mark.filterwarnings(TRL_WARNS)
@pytest.mark.parametrize("lora", [None, {"r": 4, "target_modules": ["v_proj"]}], ids=["whole", "adapter"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_small_steps_move_the_weights_whatever_is_computed_in(tmp_path, dtype, lora):
    """Weights of bfloat16 themselves would stay: of them less than a hundredth moves."""
    of_sixteen_bits(tmp_path)
    small_steps(tmp_path, dtype, lora)
    assert share_that_moved(tmp_path) > 0.8


@pytest.mark.slow
@pytest.mark.filterwarnings(TRL_WARNS)
def test_a_model_is_stored_in_its_own_dtype_and_its_moments_as_they_trained(tmp_path):
    of_sixteen_bits(tmp_path)
    settings = {"keep_moments": True, "max_steps": 1}
    recipe, *given = stage_inputs(
        tmp_path, MethodConfig(name="GRPO"), model={"dtype": "bfloat16"}, **settings
    )
    train(recipe, *given)
    run = Folders.of(recipe)
    stored = load_file(run.model / "model.safetensors")
    masters = load_file(run.checkpoints / "checkpoint-1" / "model.safetensors")
    assert {value.dtype for value in masters.values()} == {torch.float32}
    assert all(torch.equal(stored[name], value.bfloat16()) for name, value in masters.items())
    assert json.loads((run.model / "config.json").read_text())["dtype"] == "bfloat16"


@pytest.mark.slow
@pytest.mark.parametrize("what", ["steps", "sharded steps"])
def test_small_steps_move_the_weights_on_two_processes_plain_and_sharded(tmp_path, what):
    of_sixteen_bits(tmp_path)
    done = two_processes(what, tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    assert share_that_moved(tmp_path) > 0.8
