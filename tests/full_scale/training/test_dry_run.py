import re
from dataclasses import replace

import pytest
from support.rule_task import loaded, ruled_recipe, ruled_task
from support.tiny_llama import eight_billion, tiny_llama
from transformers import AutoModelForCausalLM

import full_scale.training.dry_run
from full_scale.presampling.presample import presample
from full_scale.recipe.schema import RECIPES, ModelConfig, load_recipe
from full_scale.training.dry_run import dry_run
from full_scale.training.launch import ONE, Launch
from full_scale.training.memory import Footprint, Shape, footprint, model_shape, stage_footprint

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
def eight(tmp_path_factory):
    return eight_billion(tmp_path_factory.mktemp("eight"))


def test_parameters_are_counted_without_weights(tmp_path, eight):
    folder = tiny_llama(tmp_path / "tiny")
    model = AutoModelForCausalLM.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    shape = model_shape(ModelConfig(path=str(folder)))
    assert shape.parameters == shape.trainable == sum(p.numel() for p in model.parameters())
    assert (shape.layers, shape.hidden, shape.kv_width, shape.context) == (2, 32, 2 * 32, 64)
    adapter = model_shape(ModelConfig(path=str(folder), lora={"r": 2, "target_modules": ["q_proj"]}))
    assert adapter.trainable == 2 * (2 * 32 + 32 * 2) == adapter.parameters - shape.parameters
    assert model_shape(ModelConfig(path=str(eight))) == LLAMA_8B
    with pytest.raises(ValueError, match=r"nowhere.*no such path"):
        model_shape(ModelConfig(path=str(tmp_path / "nowhere")))


def needed(changes=None, launch=ONE, dtype="bfloat16", **given):
    return footprint(LLAMA_8B, ARGUMENTS | (changes or {}), dtype=dtype, launch=launch, **given)


def test_weights_gradients_and_moments():
    found = needed()
    # Float32 masters whatever is computed in, and autocast's copy in 16 bits.
    assert found.gradients == found.optimizer // 2 == 4 * LLAMA_8B.parameters
    assert found.weights == (4 + 2) * LLAMA_8B.parameters
    assert needed(dtype="float32").weights == 4 * LLAMA_8B.parameters
    sharded = needed(launch=Launch(8, True))
    assert sharded.weights == sharded.gradients == 4 * LLAMA_8B.parameters // 8
    assert sharded.weights + sharded.gradients + sharded.optimizer == pytest.approx(14.96 * GIB, rel=1e-3)
    # An adapter trains few, and is its own reference.
    adapter = Shape(8_000, 100, 2, 32, 64, 100, 64)
    found = footprint(adapter, ARGUMENTS | {"beta": 0.04}, dtype="float32")
    assert (found.weights, found.gradients, found.optimizer, found.reference) == (32_000, 400, 800, 0)


@pytest.mark.parametrize(
    ("change", "count"),
    [({}, 0), ({"beta": 0.04}, 1), ({"online": "alpha_dpg"}, 1), ({"collapse_every": 1}, 1)],
)
def test_a_reference_stands_beside_where_the_method_needs_it(change, count):
    assert needed(change).reference == 4 * count * LLAMA_8B.parameters


def test_cache_activations_and_logits():
    plain = needed(launch=Launch(8))
    # 256 sequences of 6144 tokens, 32 layers, 8 + 8 heads of 128 channels at two bytes.
    assert plain.cache == 256 * 6144 * 32 * 2048 * 2
    assert needed({"generation_rows": 32}, Launch(8)).cache == plain.cache // 8
    rows = {"eta": 0.05, "rehearsal_rows": 1024}
    assert needed(rows, Launch(8)).activations == 2 * plain.activations
    assert needed(rows | {"two_backward": True}, Launch(8)).activations == plain.activations
    for name in ("activation_checkpointing", "gradient_checkpointing"):
        assert needed({name: False}, Launch(8)).activations > 10 * plain.activations
    for rows, length in ((2, 4096), (16, 8192)):
        found = needed({"max_completion_length": length, "per_device_train_batch_size": rows})
        # 4096 tokens x 32768 words at two bytes; float32 gradients of the hidden states and of the head.
        assert found.logits == 4096 * 32768 * 2 + 4 * 4096 * (rows * length + 128_256)
    # A generated batch may be given in micro-batches.
    whole = {"generation_batch_size": None, "gradient_accumulation_steps": 2}
    assert needed(whole | {"steps_per_generation": 1024}) == needed(whole | {"generation_batch_size": 2048})


def test_the_total_is_the_larger_of_generation_and_step():
    assert Footprint(1, 2, 4, 8, 16, 32, 1000).total == 1 + 4 + 8 + 1000
    assert Footprint(1, 2, 4, 8, 16, 32, 5).as_dict()["total"] == 1 + 4 + 8 + 2 + 16 + 32 == 63


def test_the_other_stages_at_the_recipes_length():
    found = stage_footprint(LLAMA_8B, load_recipe("llama3.1-8b-bird", DPH_F), models=2)
    assert found.weights == 2 * 2 * LLAMA_8B.parameters
    assert found.cache == 32 * 6144 * 32 * 2048 * 2
    # A float32 log-softmax over the vocabulary for 64 rows of 4096 tokens would be 125 GiB.
    assert found.activations + found.logits < 4 * GIB


def test_vllm_takes_its_share_and_the_models_score_one_by_one():
    found = stage_footprint(LLAMA_8B, load_recipe("llama3.1-8b-bird-vllm", DPH_F), models=2, device=80 * GIB)
    assert (found.weights, found.total) == (2 * LLAMA_8B.parameters, int(0.85 * 80 * GIB))
    engine = {"use_vllm": True, "vllm_gpu_memory_utilization": 0.3}
    for mode, share in (("colocate", 24), ("server", 0)):
        assert needed(engine | {"vllm_mode": mode}, device=80 * GIB).cache == int(share * GIB)


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
    # 6 x 4 rows on each of 2 devices: 48 rollouts of 24 prompts, cut into 2 steps of 24.
    cut = dry_run(replace(recipe, train={**recipe.train, "steps_per_generation": 6}), Launch(2)).steps
    assert (cut.prompts_per_generation, cut.steps_per_generation) == (24, 2)


def test_after_the_pre_sampling_nothing_is_missing_unless_it_is_of_something_else(recipe, task, tmp_path):
    here = replace(recipe, output=str(tmp_path), train={**recipe.train, "gradient_accumulation_steps": 1})
    sampled = presample(here, ruled_task(), loaded(here.model.path))
    found = dry_run(here)
    assert (found.missing, found.steps.prompts) == ((), len(sampled.exp))
    assert dry_run(here, Launch(2)).steps.rollouts_per_step == 8
    too_many = {**here.train, "gradient_accumulation_steps": len(sampled.exp)}
    (few,) = dry_run(replace(here, train=too_many)).missing
    assert few.startswith(f"D_exp={len(sampled.exp)} ")
    (other,) = dry_run(replace(here, sampling=replace(here.sampling, temperature=0.3))).missing
    assert other.startswith("the pre-sampling (sampling.temperature=0.3")


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


def test_a_target_validity_waits_for_the_base_rates_and_its_reference_is_counted(eight, tmp_path):
    places = [f"output={tmp_path}", f"model.path={eight}", "model.chat=false", "train.collapse_every=0"]
    for name, place in (("KL-control", "beta"), ("KL-control-sequence", "online_coefficient")):
        found = dry_run(load_recipe("llama3.1-8b-bird", [f"method.name={name}", *places]))
        assert any("beta" in entry for entry in found.missing)
        assert (place in found.arguments, found.arguments.get("online", "none")) == (
            False,
            "none" if place == "beta" else "sequence_kl",
        )
        assert found.memory["train"].reference == 4 * found.shape.parameters
