import re
from dataclasses import replace
from typing import get_args, get_type_hints

import pytest
from support.rule_task import loaded, ruled_recipe, ruled_task
from support.tiny_llama import eight_billion, tiny_llama
from transformers import AutoModelForCausalLM

import full_scale.training.dry_run
from full_scale.presampling.presample import presample
from full_scale.recipe.schema import RECIPES, ModelConfig, load_recipe
from full_scale.training.dry_run import dry_run
from full_scale.training.launch import Launch
from full_scale.training.memory import BYTES, Footprint, Shape, footprint, model_shape, stage_footprint

LLAMA_8B = Shape(8_030_261_248, 8_030_261_248, 32, 4096, 2 * 8 * 128, 128_256, 131_072)
ARGUMENTS = {
    "per_device_train_batch_size": 2,
    "gradient_accumulation_steps": 64,
    "generation_batch_size": 2048,
    "max_completion_length": 4096,
    "beta": 0.0,
}
GIB = 2**30

DPH_F, CONTROL = ("method.name=DPH-F",), "method.name=KL-control-sequence"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_llama(tmp_path_factory.mktemp("model"))


def test_parameters_are_counted_without_weights(folder):
    shape = model_shape(ModelConfig(path=str(folder)))
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert shape.parameters == shape.trainable == sum(p.numel() for p in model.parameters())
    assert (shape.layers, shape.hidden, shape.kv_width, shape.context) == (2, 32, 2 * 32, 64)
    (folder / "model.safetensors").rename(folder / "away")
    assert model_shape(ModelConfig(path=str(folder))) == shape
    (folder / "away").rename(folder / "model.safetensors")


def test_an_adapter_trains_few(folder):
    lora = {"r": 2, "target_modules": ["q_proj"]}
    shape = model_shape(ModelConfig(path=str(folder), lora=lora))
    assert shape.trainable == 2 * (2 * 32 + 32 * 2)
    assert shape.parameters > shape.trainable


def test_a_model_that_is_not_here(tmp_path):
    with pytest.raises(ValueError, match=r"nowhere.*no such path"):
        model_shape(ModelConfig(path=str(tmp_path / "nowhere")))


@pytest.fixture(scope="module")
def eight(tmp_path_factory):
    return eight_billion(tmp_path_factory.mktemp("eight"))


def test_llama_8b_is_the_published_size(eight):
    assert model_shape(ModelConfig(path=str(eight))) == LLAMA_8B


def test_weights_gradients_and_moments():
    found = footprint(LLAMA_8B, ARGUMENTS, dtype="bfloat16")
    # Float32 masters whatever is computed in, and autocast's copy in 16 bits.
    assert found.gradients == found.optimizer // 2 == 4 * LLAMA_8B.parameters
    assert found.weights == (4 + 2) * LLAMA_8B.parameters
    assert footprint(LLAMA_8B, ARGUMENTS, dtype="float32").weights == 4 * LLAMA_8B.parameters
    sharded = footprint(LLAMA_8B, ARGUMENTS, dtype="bfloat16", launch=Launch(8, True))
    assert sharded.weights == sharded.gradients == 4 * LLAMA_8B.parameters // 8
    assert sharded.weights + sharded.gradients + sharded.optimizer == pytest.approx(14.96 * GIB, rel=1e-3)


@pytest.mark.parametrize(
    ("change", "needed"),
    [({}, False), ({"beta": 0.04}, True), ({"online": "alpha_dpg"}, True), ({"collapse_every": 1}, True)],
)
def test_a_reference_stands_beside_where_the_method_needs_it(change, needed):
    found = footprint(LLAMA_8B, ARGUMENTS | change, dtype="bfloat16")
    assert found.reference == (4 * LLAMA_8B.parameters if needed else 0)


def test_an_adapter_is_its_own_reference():
    adapter = Shape(8_000, 100, 2, 32, 64, 100, 64)
    found = footprint(adapter, ARGUMENTS | {"beta": 0.04}, dtype="float32")
    assert found.reference == 0
    assert (found.weights, found.gradients, found.optimizer) == (32_000, 400, 800)


def test_the_cache_is_generations():
    found = footprint(LLAMA_8B, ARGUMENTS, dtype="bfloat16", launch=Launch(8))
    # 256 sequences of 6144 tokens, 32 layers, 8 + 8 heads of 128 channels at two bytes.
    assert found.cache == 256 * 6144 * 32 * 2048 * 2
    bounded = footprint(LLAMA_8B, ARGUMENTS | {"generation_rows": 32}, dtype="bfloat16", launch=Launch(8))
    assert bounded.cache == found.cache // 8


def test_rehearsal_rows_and_checkpoints():
    plain = footprint(LLAMA_8B, ARGUMENTS, dtype="bfloat16", launch=Launch(8))
    rows = ARGUMENTS | {"eta": 0.05, "rehearsal_rows": 1024}
    rehearsing = footprint(LLAMA_8B, rows, dtype="bfloat16", launch=Launch(8))
    assert rehearsing.activations == 2 * plain.activations
    apart = footprint(LLAMA_8B, rows | {"two_backward": True}, dtype="bfloat16", launch=Launch(8))
    assert apart.activations == plain.activations
    for name in ("activation_checkpointing", "gradient_checkpointing"):
        kept = footprint(LLAMA_8B, ARGUMENTS | {name: False}, dtype="bfloat16", launch=Launch(8))
        assert kept.activations > 10 * plain.activations


def test_the_total_is_the_larger_of_generation_and_step():
    assert Footprint(1, 2, 4, 8, 16, 32, 1000).total == 1 + 4 + 8 + 1000
    assert Footprint(1, 2, 4, 8, 16, 32, 5).total == 1 + 4 + 8 + 2 + 16 + 32
    assert Footprint(1, 2, 4, 8, 16, 32, 5).as_dict()["total"] == 63


def test_every_precision_of_a_recipe_has_its_bytes():
    assert tuple(BYTES) == get_args(get_type_hints(ModelConfig)["dtype"])


def test_a_generated_batch_may_be_given_in_micro_batches():
    whole = {**ARGUMENTS, "generation_batch_size": None, "gradient_accumulation_steps": 2}
    cut = {**whole, "steps_per_generation": 1024}
    assert footprint(LLAMA_8B, cut, dtype="bfloat16") == footprint(
        LLAMA_8B, {**whole, "generation_batch_size": 2048}, dtype="bfloat16"
    )


def test_the_logits_are_one_slice_of_tokens_and_vocabulary():
    longer = ARGUMENTS | {"max_completion_length": 8192, "per_device_train_batch_size": 16}
    for settings in (ARGUMENTS, longer):
        tokens = settings["per_device_train_batch_size"] * settings["max_completion_length"]
        found = footprint(LLAMA_8B, settings, dtype="bfloat16")
        # 4096 tokens x 32768 words at two bytes; float32 gradients of the hidden states and of the head.
        assert found.logits == 4096 * 32768 * 2 + 4 * 4096 * (tokens + 128_256)


def test_the_other_stages_at_the_recipes_length():
    recipe = load_recipe("llama3.1-8b-bird", DPH_F)
    found = stage_footprint(LLAMA_8B, recipe, models=2)
    assert found.weights == 2 * 2 * LLAMA_8B.parameters
    assert found.cache == 32 * 6144 * 32 * 2048 * 2
    # A float32 log-softmax over the vocabulary for 64 rows of 4096 tokens would be 125 GiB.
    assert found.activations + found.logits < 4 * GIB


LORA = "model.lora={r: 64, lora_alpha: 128, target_modules: all-linear}"
ALONE = "train.gradient_accumulation_steps=512"


@pytest.mark.parametrize(
    ("overrides", "launch", "stage", "because"),
    [
        ([ALONE], Launch(), "train", "optimizer 59.8"),
        (["sampling.batch_size=64"], Launch(8, True), "evaluate", "cache 48.0"),
        (["sampling.batch_size=128"], Launch(8, True), "train", "cache 96.0"),
        ([LORA, "train.activation_checkpointing=false"], Launch(8), "train", "activations"),
    ],
)
def test_what_does_not_fit_says_what_adds_up_to_too_much(eight, tmp_path, overrides, launch, stage, because):
    named = [f"output={tmp_path}", f"model.path={eight}", *overrides]
    found = dry_run(load_recipe("llama3.1-8b-bird", [*DPH_F, *named]), launch, device=80 * GIB)
    (said,) = [sentence for sentence in found.too_large if sentence.startswith(stage)]
    assert "does not fit in 80 GiB" in said
    assert because in said
    numbers = [float(number) for number in re.findall(r"\d+\.\d", said.partition("it takes ")[2])]
    total, weights, optimizer, reference, cache, step = numbers
    assert total == pytest.approx(weights + optimizer + reference + max(cache, step), abs=0.3)


def test_the_estimate_grows_with_the_prompts(eight, tmp_path, monkeypatch):
    named = [f"output={tmp_path}", f"model.path={eight}", "model.chat=false"]
    recipe = load_recipe("llama3.1-8b-bird", [*DPH_F, *named])
    asked = ruled_task().train[0]

    def estimated(words):
        task = replace(ruled_task(), train=[asked, replace(asked, id="long", prompt="p1 " * words)])
        monkeypatch.setattr(full_scale.training.dry_run, "load_task", lambda config: task)
        return dry_run(recipe)

    short, long = estimated(16), estimated(4000)
    assert (short.prompt_tokens, long.prompt_tokens) == (16, 4000)
    for stage in ("presample", "train", "evaluate"):
        assert long.memory[stage].cache / short.memory[stage].cache == pytest.approx(8096 / 4112)
    assert long.memory["train"].activations > 1.9 * short.memory["train"].activations


def test_sampling_through_fsdp_is_said_to_be_slow(tmp_path):
    recipe = load_recipe("llama3.1-8b-bird", [*DPH_F, f"output={tmp_path}"])
    (said,) = dry_run(recipe, Launch(8, True)).warnings
    assert "sampling.backend=vllm" in said
    assert dry_run(recipe, Launch(8)).warnings == dry_run(recipe, Launch(8, True, "deepspeed")).warnings == ()


def test_vllm_takes_its_share_and_the_models_score_one_by_one(eight):
    recipe = load_recipe("llama3.1-8b-bird-vllm", DPH_F)
    found = stage_footprint(LLAMA_8B, recipe, models=2, device=80 * GIB)
    assert found.weights == 2 * LLAMA_8B.parameters
    assert found.total == int(0.85 * 80 * GIB)
    engine = {"use_vllm": True, "vllm_gpu_memory_utilization": 0.3}
    assert footprint(LLAMA_8B, ARGUMENTS | engine, dtype="bfloat16", device=80 * GIB).cache == int(24 * GIB)
    apart = ARGUMENTS | engine | {"vllm_mode": "server"}
    assert footprint(LLAMA_8B, apart, dtype="bfloat16", device=80 * GIB).cache == 0


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    train = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 3, "num_generations": 2}
    return ruled_recipe(tmp_path_factory.mktemp("estimate"), train=train | {"num_train_epochs": 5})


@pytest.fixture
def task(monkeypatch):
    monkeypatch.setattr(full_scale.training.dry_run, "load_task", lambda config: ruled_task())


def test_steps_of_the_whole_training_set(recipe, task):
    found = dry_run(recipe)
    # 12 rollouts a step are 6 prompts; of 8 prompts TRL drops the 2 that fill no batch; 5 epochs.
    assert (found.steps.rollouts_per_step, found.steps.prompts_per_generation) == (12, 6)
    assert (found.steps.prompts, found.steps.steps, found.steps.rollouts) == (8, 5, 60)
    assert found.shape.parameters > 0
    assert found.memory["train"].weights == 4 * found.shape.parameters
    assert found.memory["evaluate"].weights == 2 * found.memory["presample"].weights
    assert [entry.split()[1] for entry in found.missing] == ["pre-sampling"]


def test_after_the_pre_sampling_nothing_is_missing(recipe, task, tmp_path):
    here = replace(recipe, output=str(tmp_path), train={**recipe.train, "gradient_accumulation_steps": 1})
    sampled = presample(here, ruled_task(), loaded(here.model.path))
    found = dry_run(here)
    assert found.missing == ()
    assert found.steps.prompts == len(sampled.exp)
    assert dry_run(here, Launch(2)).steps.rollouts_per_step == 8


def test_everything_missing_is_listed(tmp_path):
    found = dry_run(load_recipe("llama3.1-8b-bird-vllm", [*DPH_F, f"output={tmp_path}"]), Launch(8))
    missing = "\n".join(found.missing)
    for what in ("pre-sampling", "task's data", "model's configuration", "vllm"):
        assert what in missing
    assert found.memory == {}
    assert (found.steps.prompts, found.steps.steps, found.steps.rollouts) == (None, None, None)
    assert found.steps.rollouts_per_step == 64 * 16
    assert (found.steps.prompts_per_generation, found.steps.steps_per_generation) == (128, 2)
    assert found.steps.rehearsal_rows == 512


def test_a_target_validity_waits_for_the_base_rates(tmp_path):
    found = dry_run(load_recipe("llama3.1-8b-bird", [CONTROL, f"output={tmp_path}"]))
    assert any("beta" in entry for entry in found.missing)
    # What its reward needs the reference for is counted all the same.
    assert (found.arguments["online"], "online_coefficient" in found.arguments) == ("sequence_kl", False)


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("train.learning_rat=1", "learning_rat"),
        ("train.learning_rate=fast", "learning_rate='fast'"),
        ("train.top_k=3", r"sampling\.top_k"),
        ("method.eta=0.1", r"method\.eta"),
        ("method.mu=1.5", r"method\.mu"),
    ],
)
def test_a_target_validity_hides_no_mistake(tmp_path, override, named):
    with pytest.raises(ValueError, match=named):
        dry_run(load_recipe("llama3.1-8b-bird", [CONTROL, f"output={tmp_path}", override]))


def test_what_is_wrong_is_no_missing_piece(recipe, task):
    with pytest.raises(ValueError, match="learning_rate"):
        dry_run(replace(recipe, train={"learning_rat": 1}))


def test_a_generated_batch_may_be_given_in_micro_batches_when_it_is_counted(recipe, task):
    found = dry_run(replace(recipe, train={**recipe.train, "steps_per_generation": 6}), Launch(2))
    # 6 x 4 rows on each of 2 devices: 48 rollouts of 24 prompts, cut into 2 steps of 24.
    assert (found.steps.prompts_per_generation, found.steps.steps_per_generation) == (24, 2)


@pytest.mark.parametrize(
    ("change", "world", "named"),
    [
        ({"generation_batch_size": 24}, 4, "=24 .*multiple of the 16 rows"),
        ({"num_generations": 5}, 1, "=12 .*multiple of the 5 generations"),
    ],
)
def test_a_batch_that_cannot_be_cut_is_refused(recipe, task, change, world, named):
    with pytest.raises(ValueError, match=named):
        dry_run(replace(recipe, train={**recipe.train, **change}), Launch(world))


def test_what_the_pre_sampling_lacks_is_missing(recipe, task, tmp_path):
    here = replace(recipe, output=str(tmp_path))
    sampled = presample(here, ruled_task(), loaded(here.model.path))
    too_many = {**here.train, "gradient_accumulation_steps": len(sampled.exp)}
    (few,) = dry_run(replace(here, train=too_many)).missing
    assert few.startswith(f"D_exp={len(sampled.exp)} ")
    warmer = replace(here, sampling=replace(here.sampling, temperature=0.3))
    (other,) = dry_run(warmer).missing
    assert other.startswith("the pre-sampling (sampling.temperature=0.3")


def test_a_launch_tells_processes_sharding_and_what_it_needs(tmp_path, monkeypatch):
    fsdp, deepspeed = (RECIPES / "launch" / f"{name}.yaml" for name in ("fsdp2", "deepspeed-zero3"))
    assert Launch.read(fsdp) == Launch(8, True)
    assert Launch.read(deepspeed) == Launch(8, True, "deepspeed")
    found = dry_run(
        load_recipe("llama3.1-8b-bird", [*DPH_F, f"output={tmp_path}"]), Launch(8, True, "no_such")
    )
    assert any("package no_such" in entry for entry in found.missing)
    for name, value in {"WORLD_SIZE": "4", "ACCELERATE_USE_FSDP": "true"}.items():
        monkeypatch.setenv(name, value)
    assert Launch.of_process() == Launch(4, True)
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "false")
    monkeypatch.setenv("ACCELERATE_USE_DEEPSPEED", "true")
    assert Launch.of_process() == Launch(4, False, "deepspeed")
    monkeypatch.setenv("ACCELERATE_DEEPSPEED_ZERO_STAGE", "3")
    assert Launch.of_process() == Launch(4, True, "deepspeed")
    other = tmp_path / "other.yaml"
    other.write_text("[1]")
    with pytest.raises(ValueError, match="distributed_type"):
        Launch.read(other)


def test_a_penalty_that_waits_for_the_base_rates_has_its_reference_counted(eight, tmp_path):
    named = [f"output={tmp_path}", f"model.path={eight}", "model.chat=false", "method.name=KL-control"]
    named.append("train.collapse_every=0")
    found = dry_run(load_recipe("llama3.1-8b-bird", named))
    assert "beta" not in found.arguments
    assert found.memory["train"].reference == 4 * found.shape.parameters
