import json

import pytest
import torch
from safetensors.torch import save_file
from support.tiny_llama import tiny_llama, tiny_tokenizer

from full_scale.models.hashes import model_hash, tokenizer_hash


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
    with pytest.raises(ValueError, match="no/such-model"):
        model_hash("no/such-model")
    with pytest.raises(ValueError, match="safetensors weights"):
        model_hash(tmp_path)
    with pytest.raises(ValueError, match=r"tokenizer\.json"):
        tokenizer_hash(tmp_path)
