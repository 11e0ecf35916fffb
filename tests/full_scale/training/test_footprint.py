from typing import get_args, get_type_hints

import pytest
from support.tiny_llama import tiny_llama
from support.tiny_training import TRL_WARNS
from transformers import AutoModelForCausalLM, LlamaConfig

from full_scale.recipe.schema import ModelConfig, load_recipe
from full_scale.training.footprint import BYTES, Footprint, Shape, footprint, model_shape, stage_footprint

LLAMA_8B = Shape(8_030_261_248, 8_030_261_248, 32, 4096, 2 * 8 * 128, 128_256, 131_072)
ARGUMENTS = {
    "per_device_train_batch_size": 2,
    "gradient_accumulation_steps": 64,
    "generation_batch_size": 2048,
    "max_completion_length": 4096,
    "beta": 0.0,
}
GIB = 2**30


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


@pytest.mark.filterwarnings(TRL_WARNS)
def test_an_adapter_trains_few(folder):
    lora = {"r": 2, "target_modules": ["q_proj"]}
    shape = model_shape(ModelConfig(path=str(folder), lora=lora))
    assert shape.trainable == 2 * (2 * 32 + 32 * 2)
    assert shape.parameters > shape.trainable


def test_a_model_that_is_not_here(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        model_shape(ModelConfig(path=str(tmp_path / "nowhere")))


def test_llama_8b_is_the_published_size(tmp_path):
    LlamaConfig(
        vocab_size=128_256,
        hidden_size=4096,
        intermediate_size=14336,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
        max_position_embeddings=131_072,
    ).save_pretrained(tmp_path)
    tiny = tiny_llama(tmp_path / "tiny")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tiny / name).rename(tmp_path / name)
    assert model_shape(ModelConfig(path=str(tmp_path))) == LLAMA_8B


def test_weights_gradients_and_moments():
    found = footprint(LLAMA_8B, ARGUMENTS, dtype="bfloat16")
    assert found.weights == found.gradients == found.optimizer // 2 == 2 * LLAMA_8B.parameters
    sharded = footprint(LLAMA_8B, ARGUMENTS, dtype="bfloat16", world_size=8, sharded=True)
    assert sharded.weights == sharded.gradients == 4 * LLAMA_8B.parameters // 8
    assert sharded.weights + sharded.gradients + sharded.optimizer == pytest.approx(14.96 * GIB, rel=1e-3)


@pytest.mark.parametrize(
    ("change", "needed"),
    [({}, False), ({"beta": 0.04}, True), ({"online": "alpha_dpg"}, True), ({"collapse_every": 1}, True)],
)
def test_a_reference_stands_beside_where_the_method_needs_it(change, needed):
    found = footprint(LLAMA_8B, ARGUMENTS | change, dtype="bfloat16")
    assert found.reference == (2 * LLAMA_8B.parameters if needed else 0)


def test_an_adapter_is_its_own_reference():
    adapter = Shape(8_000, 100, 2, 32, 64, 100, 64)
    found = footprint(adapter, ARGUMENTS | {"beta": 0.04}, dtype="float32")
    assert found.reference == 0
    assert (found.weights, found.gradients, found.optimizer) == (32_000, 400, 800)


def test_the_cache_is_generations():
    found = footprint(LLAMA_8B, ARGUMENTS, dtype="bfloat16", world_size=8)
    # 256 sequences of 6144 tokens, 32 layers, 8 + 8 heads of 128 channels at two bytes.
    assert found.cache == 256 * 6144 * 32 * 2048 * 2
    assert footprint(LLAMA_8B, ARGUMENTS | {"use_vllm": True}, dtype="bfloat16").cache == 0


def test_rehearsal_rows_and_checkpoints():
    plain = footprint(LLAMA_8B, ARGUMENTS, dtype="bfloat16", world_size=8)
    rows = ARGUMENTS | {"eta": 0.05, "rehearsal_rows": 1024}
    rehearsing = footprint(LLAMA_8B, rows, dtype="bfloat16", world_size=8)
    assert rehearsing.activations == 2 * plain.activations
    apart = footprint(LLAMA_8B, rows | {"two_backward": True}, dtype="bfloat16", world_size=8)
    assert apart.activations == plain.activations
    for name in ("activation_checkpointing", "gradient_checkpointing"):
        kept = footprint(LLAMA_8B, ARGUMENTS | {name: False}, dtype="bfloat16", world_size=8)
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
    recipe = load_recipe("llama3.1-8b-bird-dph-f-paper")
    found = stage_footprint(LLAMA_8B, recipe, models=2)
    assert found.weights == 2 * 2 * LLAMA_8B.parameters
    assert found.cache == 64 * 6144 * 32 * 2048 * 2
    # A float32 log-softmax over the vocabulary for 64 rows of 4096 tokens would be 125 GiB.
    assert found.activations + found.logits < 4 * GIB
    assert stage_footprint(LLAMA_8B, load_recipe("llama3.1-8b-bird-dph-f-vllm")).cache == 0
