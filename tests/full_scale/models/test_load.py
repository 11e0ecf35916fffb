import pytest
from support.tiny_llama import tiny_llama

from full_scale.models.hashes import model_hash
from full_scale.models.load import load, load_model, load_tokenizer, load_trained, lora_config
from full_scale.recipe.schema import ModelConfig


def test_an_adapter_is_what_the_recipe_says():
    assert lora_config(ModelConfig()) is None
    made = lora_config(ModelConfig(lora={"r": 4, "target_modules": "all-linear"}))
    assert (made.r, made.target_modules, made.task_type) == (4, "all-linear", "CAUSAL_LM")


@pytest.mark.parametrize("lora", [{"rank": 4}, {"task_type": "CAUSAL_LM"}])
def test_what_peft_does_not_take_is_named(lora):
    with pytest.raises(ValueError, match=rf"model\.lora=.*LoraConfig.*{next(iter(lora))}"):
        lora_config(ModelConfig(lora=lora))


@pytest.mark.parametrize("loader", [load_model, load_tokenizer])
def test_no_model_there(tmp_path, loader):
    with pytest.raises(ValueError, match=r"model\.path=.*nowhere"):
        loader(ModelConfig(path=str(tmp_path / "nowhere")))


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
