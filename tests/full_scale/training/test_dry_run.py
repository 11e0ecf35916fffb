"""What a training is told to need; every command of the docs that trains 8 billion weights fits in 80 GiB."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from support.rule_task import loaded, ruled_recipe, ruled_task
from support.tiny_llama import eight_billion, tiny_llama
from transformers import AutoModelForCausalLM, LlamaConfig

import full_scale.training.dry_run
from full_scale.presampling.presample import presample
from full_scale.recipe.schema import RECIPES, ModelConfig, load_recipe
from full_scale.training.dry_run import GIB, dry_run
from full_scale.training.launch import ONE, Launch
from full_scale.training.memory import Shape, model_shape

LLAMA_8B = Shape(8_030_261_248, 8_030_261_248, 32, 4096, 14_336, 131_072)
DPH_F, CONTROL = "method.name=DPH-F", "method.name=KL-control-sequence"


@pytest.fixture(scope="module")
def eight(tmp_path_factory):
    return eight_billion(tmp_path_factory.mktemp("eight"))


def test_parameters_are_counted_without_weights(tmp_path, eight):
    folder = tiny_llama(tmp_path / "tiny")
    model = AutoModelForCausalLM.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    shape = model_shape(ModelConfig(path=str(folder)))
    assert shape.parameters == shape.trainable == sum(p.numel() for p in model.parameters())
    assert (shape.layers, shape.hidden, shape.inner, shape.context) == (2, 32, 64, 64)
    adapter = model_shape(ModelConfig(path=str(folder), lora={"r": 2, "target_modules": ["q_proj"]}))
    assert adapter.trainable == 2 * (2 * 32 + 32 * 2) == adapter.parameters - shape.parameters
    assert model_shape(ModelConfig(path=str(eight))) == LLAMA_8B
    with pytest.raises(ValueError, match=r"nowhere.*no such path"):
        model_shape(ModelConfig(path=str(tmp_path / "nowhere")))


FLOAT32 = 4 * LLAMA_8B.parameters
LORA = "model.lora={r: 64, lora_alpha: 128, target_modules: all-linear}"


def planned(output, *overrides, name="llama3.1-8b-bird", launch=ONE, device=0):
    return dry_run(load_recipe(name, [DPH_F, f"output={output}", *overrides]), launch, device=device)


@pytest.mark.parametrize(
    ("overrides", "launch", "wanted"),
    [
        (["train.collapse_every=0"], ONE, {"weights": 1.5, "gradients": 1, "optimizer": 2}),
        (["train.collapse_every=0"], Launch(8, True), {"weights": 1 / 8, "optimizer": 1 / 4}),
        # The collapse meter compares with a reference, which an adapter's base is without a copy.
        (["train.collapse_every=1"], ONE, {"weights": 2.5}),
        (["train.collapse_every=0", "model.dtype=float32"], ONE, {"weights": 1}),
        (["train.collapse_every=0", "method.name=RKL"], ONE, {"weights": 2.5}),
    ],
)  # fmt: skip
def test_what_a_training_needs(eight, tmp_path, overrides, launch, wanted):
    found = planned(tmp_path, f"model.path={eight}", *overrides, launch=launch).memory
    assert {part: found[part] / FLOAT32 for part in wanted} == wanted


def test_an_adapter_trains_few_weights_and_is_its_own_reference(eight, tmp_path):
    found = planned(tmp_path, f"model.path={eight}", LORA)
    frozen = 2 * LLAMA_8B.parameters
    assert found.memory["weights"] == frozen + 6 * found.shape.trainable
    assert found.memory["gradients"] == 4 * found.shape.trainable < 0.1 * frozen


def test_operations_are_counted_for_samples_training_reference_and_rehearsal(eight, tmp_path):
    plain = ["train.max_steps=10", "train.collapse_every=0", "train.activation_checkpointing=false"]
    plain = [f"model.path={eight}", "sampling.max_new_tokens=200", *plain]
    grpo = planned(tmp_path, *plain, "method.name=GRPO")
    # A prompt of unknown length counts as half an answer. One pass samples, three train.
    tokens = 300 * 10 * grpo.steps.rollouts_per_step
    assert grpo.petaflop == pytest.approx(2 * LLAMA_8B.parameters * 4 * tokens / 1e15)
    reference = planned(tmp_path, *plain, "method.name=RKL")
    assert reference.petaflop == pytest.approx(grpo.petaflop * 5 / 4)
    recomputed = planned(tmp_path, *plain, "method.name=GRPO", "train.activation_checkpointing=true")
    assert recomputed.petaflop == pytest.approx(grpo.petaflop * 5 / 4)
    rehearsed = planned(tmp_path, *plain)
    share = rehearsed.steps.rehearsal_rows / rehearsed.steps.rollouts_per_step
    assert rehearsed.petaflop == pytest.approx(grpo.petaflop * (4 + 3 * share) / 4)
    assert planned(tmp_path, *plain[:1]).petaflop is None


def kept_bytes(config, rows, dtype):
    """What a forward pass keeps for the backward one, weights and their copies left aside."""
    model, ids = AutoModelForCausalLM.from_config(config).model, torch.randint(0, 40, rows)
    weights = {p.data_ptr() for p in model.parameters()}
    sizes = {tuple(p.shape[::step]) for p in model.parameters() for step in (1, -1)}
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights and tuple(tensor.shape) not in sizes:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    halved = torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bfloat16")
    with halved, torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False)
    return sum(kept.values())


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize(
    ("hidden", "inner", "heads"), [(64, 224, (4, 1)), (96, 96, (6, 6)), (256, 896, (8, 2))]
)
def test_the_activations_are_those_that_a_step_keeps(hidden, inner, heads, dtype):
    names = ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads")
    sizes = dict(zip(names, (hidden, inner, *heads), strict=True), vocab_size=40, max_position_embeddings=64)
    one, three = (LlamaConfig(**sizes, num_hidden_layers=layers) for layers in (1, 3))
    shape, width = Shape(0, 0, 3, hidden, inner, 64), {"bfloat16": 2, "float32": 4}[dtype]
    measured = 1.5 * (kept_bytes(three, (3, 50), dtype) - kept_bytes(one, (3, 50), dtype))
    assert shape.activations(150, width, False) == pytest.approx(measured, rel=0.15)


def test_activations_grow_with_rows_and_prompts_and_fall_with_checkpoints(eight, tmp_path, monkeypatch):
    place, rows = f"model.path={eight}", ("method.eta=0.05", "method.rehearsal_rows=128")
    plain = planned(tmp_path, place, "method.rehearsal_rows=128", "method.two_backward=true").memory
    assert planned(tmp_path, place, *rows).memory["activations"] == 2 * plain["activations"]
    found = planned(tmp_path, place, *rows, "train.activation_checkpointing=false").memory
    assert found["activations"] > 16 * plain["activations"]
    found, asked = [], ruled_task().train[0]
    for words in (16, 4000):
        task = replace(ruled_task(), train=[asked, replace(asked, id="long", prompt="p1 " * words)])
        monkeypatch.setattr(full_scale.training.dry_run, "load_task", lambda config, task=task: task)
        found.append(planned(tmp_path, place, "model.chat=false"))
    short, long = found
    assert (short.prompt_tokens, long.prompt_tokens) == (16, 4000)
    assert long.memory["activations"] / short.memory["activations"] == pytest.approx(8096 / 4112)


@pytest.mark.parametrize(
    ("overrides", "launch", "because"),
    [
        (["train.gradient_accumulation_steps=512"], Launch(), "optimizer 59.8"),
        ([LORA, "train.activation_checkpointing=false"], Launch(8), "activations"),
    ],
)
def test_what_does_not_fit_says_what_adds_up_to_too_much(eight, tmp_path, overrides, launch, because):
    said = planned(tmp_path, f"model.path={eight}", *overrides, launch=launch, device=80 * GIB).too_large
    assert "does not fit in 80 GiB" in said
    assert because in said
    *parts, total = map(float, re.findall(r"\d+\.\d", said))
    assert total == pytest.approx(sum(parts), abs=0.3)
    assert planned(tmp_path, f"model.path={eight}", *overrides, launch=launch).too_large == ""


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    monkeypatch.setattr(full_scale.training.dry_run, "load_task", lambda config: ruled_task())
    train = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 3, "num_generations": 2}
    return ruled_recipe(tmp_path, train=train | {"num_train_epochs": 5})


def test_steps_of_the_whole_training_set(recipe):
    found = dry_run(recipe)
    # 12 rollouts a step are 6 prompts; of 8 prompts TRL drops the 2 that fill no batch; 5 epochs.
    assert (found.steps.rollouts_per_step, found.steps.prompts_per_generation) == (12, 6)
    assert (found.steps.prompts, found.steps.steps, found.steps.rollouts) == (8, 5, 60)
    assert found.memory["gradients"] == 4 * found.shape.parameters
    assert [entry.split()[1] for entry in found.missing] == ["pre-sampling"]
    # 6 x 4 rows on each of 2 devices: 48 rollouts of 24 prompts, cut into 2 steps of 24.
    cut = dry_run(replace(recipe, train={**recipe.train, "steps_per_generation": 6}), Launch(2)).steps
    assert (cut.prompts_per_generation, cut.steps_per_generation) == (24, 2)


def test_after_the_pre_sampling_nothing_is_missing_unless_it_is_of_something_else(recipe):
    here = replace(recipe, train={**recipe.train, "gradient_accumulation_steps": 1})
    sampled = presample(here, ruled_task(), loaded(here.model.path))
    found = dry_run(here)
    assert (found.missing, found.steps.prompts) == ((), len(sampled.exp))
    too_many = {**here.train, "gradient_accumulation_steps": len(sampled.exp)}
    (few,) = dry_run(replace(here, train=too_many)).missing
    assert few.startswith(f"{len(sampled.exp)} unsolved prompts are fewer than")
    (other,) = dry_run(replace(here, sampling=replace(here.sampling, temperature=0.3))).missing
    assert other.startswith("the pre-sampling (sampling.temperature=0.3")


def test_everything_missing_and_what_would_be_slow_is_listed(tmp_path):
    found = planned(tmp_path, name="llama3.1-8b-bird-vllm", launch=Launch(8, True, "no_such"))
    missing = "\n".join(found.missing)
    for what in ("pre-sampling", "task's data", "model's configuration", "vllm", "package no_such"):
        assert what in missing
    assert found.memory == {}
    assert (found.steps.prompts, found.steps.steps, found.steps.rollouts) == (None, None, None)
    (said,) = planned(tmp_path, launch=Launch(8, True)).warnings
    assert "sampling.backend=vllm" in said
    for launch in (Launch(8), Launch(8, True, "deepspeed")):
        assert planned(tmp_path, launch=launch).warnings == ()


def test_prompts_that_are_too_few_or_too_long_are_missing_room_and_few_a_step_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(full_scale.training.dry_run, "load_task", lambda config: ruled_task())
    cut = {"per_device_train_batch_size": 4, "num_generations": 4, "generation_batch_size": 128}
    recipe = ruled_recipe(tmp_path, train={**cut, "gradient_accumulation_steps": 2})
    found = dry_run(recipe)
    assert (found.steps.steps, found.prompt_tokens) == (0, 2)
    assert any(entry.startswith("prompts enough for one generated batch: 8 of 32") for entry in found.missing)
    assert any("no pre-sampling in" in entry and "run dph presample" in entry for entry in found.missing)
    (said,) = found.warnings
    assert said.startswith("A step trains 2 prompts, and teaches nothing where")
    long = replace(recipe, sampling=replace(recipe.sampling, max_new_tokens=63))
    for name, count in (("training", 8), ("in_domain", 3)):
        assert any(f"{name} prompts='{count} of {count} longer'" in each for each in dry_run(long).missing)


@pytest.mark.parametrize(
    ("overrides", "named"),
    [
        # A target pass rate, whose beta is not known yet, hides no mistake.
        ([CONTROL, "train.learning_rat=1"], "learning_rat"),
        # What the trainer's configuration would refuse is refused before it is made.
        ([CONTROL, "method.mu=null", "method.beta=0.5", "method.beta_from=0.1"], r"beta_from=0\.1"),
        ([CONTROL, "train.mask_truncated_completions=true"], "whole completions"),
        (["train.generation_batch_size=24"], r"=24 .*multiple of the 16 rows"),
        (["train.num_generations=5"], r"=2048 .*multiple of the 5 generations"),
    ],
)
def test_what_is_wrong_in_a_recipe_is_refused(tmp_path, overrides, named):
    with pytest.raises(ValueError, match=named):
        planned(tmp_path, *overrides, launch=Launch(8))


def test_a_launch_tells_processes_and_sharding(tmp_path, monkeypatch):
    for name, package in (("fsdp2", None), ("deepspeed-zero3", "deepspeed")):
        assert Launch.read(RECIPES / "launch" / f"{name}.yaml") == Launch(8, True, package)
    monkeypatch.setenv("WORLD_SIZE", "4")
    for settings, found in (
        ({"USE_FSDP": "true"}, Launch(4, True)),
        ({"USE_FSDP": "false", "USE_DEEPSPEED": "true"}, Launch(4, False, "deepspeed")),
        ({"DEEPSPEED_ZERO_STAGE": "3"}, Launch(4, True, "deepspeed")),
    ):
        for name, value in settings.items():
            monkeypatch.setenv(f"ACCELERATE_{name}", value)
        assert Launch.of_process() == found
    (tmp_path / "other.yaml").write_text("[1]")
    with pytest.raises(ValueError, match="distributed_type"):
        Launch.read(tmp_path / "other.yaml")


@pytest.mark.parametrize(
    ("name", "place", "online"),
    [("KL-control", "beta", "none"), ("KL-control-sequence", "online_beta", "sequence_kl")],
)
def test_a_target_pass_rate_waits_for_the_base_rates_and_its_reference_is_counted(
    eight, tmp_path, name, place, online
):
    found = planned(tmp_path, f"method.name={name}", f"model.path={eight}", "train.collapse_every=0")
    assert any("beta" in entry for entry in found.missing)
    assert place not in found.arguments
    assert found.arguments.get("online", "none") == online
    assert found.memory["weights"] == (1.5 + 1) * 4 * found.shape.parameters


ROOT = Path(__file__).parents[3]


def commands():
    """The docs' command lines that name a recipe of Llama 3.1 8B, in blocks of code and in tables."""
    for page in ("docs/at-scale.md", "docs/train.md", "README.md"):
        text = (ROOT / page).read_text().replace("\\\n", " ")
        code = re.findall(r"^```[^\n]*\n(.*?)^```", text, re.M | re.S) + re.findall(r"`(dph [^`\n]+)`", text)
        for line in "\n".join(code).splitlines():
            if re.search(r"--config\s+llama3\.1-8b", line):
                yield shlex.split(line.removeprefix("$ "), comments=True)


COMMANDS = [*commands()]


def after(words, *options):
    """The value of the last of the options that a command line gives."""
    return next((words[words.index(option) + 1] for option in options if option in words), None)


def launched(words):
    file = after(words, "--config_file", "--launch")
    start = Launch.read(ROOT / file) if file else Launch()
    size = after(words, "--num_processes", "--nproc_per_node", "--world-size")
    return Launch(int(size) if size else start.world_size, start.sharded)


def test_there_are_commands_for_every_kind_of_machine():
    machines = {(launched(words).world_size, launched(words).sharded) for words in COMMANDS}
    assert machines >= {(1, False), (4, True), (8, False), (8, True), (16, True)}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_documented_command_resolves_and_fits(words, eight, tmp_path):
    named = [word for word in words[words.index("--config") + 2 :] if re.match(r"[a-z_.]+=", word)]
    recipe = load_recipe(after(words, "--config"), [*named, f"model.path={eight}", f"output={tmp_path}"])
    found = dry_run(recipe, launched(words), device=80 * GIB)
    if "train" in words and "--dry-run" not in words:
        assert found.too_large == ""
        assert found.steps.rollouts_per_step == 64 * 16
    assert found.memory["total"] > 0
