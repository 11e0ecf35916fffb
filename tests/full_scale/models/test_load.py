import json

import pytest
import torch
from safetensors.torch import save_file
from support.tiny_llama import tiny_llama, tiny_tokenizer

from full_scale.models.load import (
    load,
    load_model,
    load_tokenizer,
    load_trained,
    lora_config,
    model_hash,
    tokenizer_hash,
)
from full_scale.recipe.schema import ModelConfig


def test_equal_weights_have_equal_hashes_wherever_they_lie(tmp_path):
    first, again, other = (
        tiny_llama(tmp_path / name, seed=seed) for name, seed in zip("abc", (0, 0, 1), strict=True)
    )
    assert model_hash(first) == model_hash(str(again)) != model_hash(other)
    assert tokenizer_hash(first) == tokenizer_hash(other)


def test_another_vocabulary_or_chat_template_is_another_tokenizer(tmp_path):
    words = [["a", "b"], ["b", "a"]]
    for name, vocabulary in zip("xy", words, strict=True):
        tiny_tokenizer(vocabulary).save_pretrained(tmp_path / name)
    found = {tokenizer_hash(tmp_path / name) for name in "xy"}
    (tmp_path / "y" / "chat_template.jinja").write_text("{{ messages }}")
    assert len(found | {tokenizer_hash(tmp_path / "y")}) == 3


def test_an_adapters_hash_holds_its_base(tmp_path):
    base = tiny_llama(tmp_path / "base")
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    save_file({"lora": torch.ones(2)}, adapter / "adapter_model.safetensors")
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(base)}))
    assert model_hash(adapter).startswith(model_hash(base) + "+")
    assert model_hash(adapter, {str(base): "known"}).startswith("known+")


def test_what_is_no_model_is_named(tmp_path):
    for reading in (load_model, load_tokenizer):
        with pytest.raises(ValueError, match=r"model\.path='\./nowhere'.*no such path on this machine"):
            reading(ModelConfig(path="./nowhere"))
    with pytest.raises(ValueError, match="no/such-model"):
        model_hash("no/such-model")
    with pytest.raises(ValueError, match="safetensors weights"):
        model_hash(tmp_path)
    with pytest.raises(ValueError, match=r"tokenizer\.json"):
        tokenizer_hash(tmp_path)


def test_an_adapter_is_what_the_recipe_says_and_peft_takes():
    assert lora_config(ModelConfig()) is None
    made = lora_config(ModelConfig(lora={"r": 4, "target_modules": "all-linear"}))
    assert (made.r, made.target_modules, made.task_type) == (4, "all-linear", "CAUSAL_LM")
    for lora in ({"rank": 4}, {"task_type": "CAUSAL_LM"}):
        with pytest.raises(ValueError, match=rf"model\.lora=.*LoraConfig.*{next(iter(lora))}"):
            lora_config(ModelConfig(lora=lora))


def test_weights_other_than_safetensors_are_refused(tmp_path):
    folder = tmp_path / "model"
    tiny_llama(folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match="safetensors"):
        load_model(ModelConfig(path=str(folder)))


def test_a_trained_model_is_known_by_its_own_weights_and_the_initial_tokenizer(tmp_path):
    config = ModelConfig(path=str(tiny_llama(tmp_path / "model")))
    initial, folder = load(config), tiny_llama(tmp_path / "trained", seed=1)
    trained = load_trained(config, folder, initial)
    assert not trained.model.training
    assert trained.tokenizer is initial.tokenizer
    assert trained.hashes.as_dict() == {**initial.hashes.as_dict(), "model_hash": model_hash(folder)}
