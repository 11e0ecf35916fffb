from dataclasses import replace

import numpy as np
import pytest
import torch
from support.rule_task import Rule, stage_inputs
from support.tiny_llama import tiny_llama
from support.tiny_training import TRL_WARNS
from transformers import AutoModelForCausalLM

from full_scale.models.load import gguf_file, load, load_model, load_tokenizer, load_trained, source
from full_scale.recipe.schema import MethodConfig, ModelConfig
from full_scale.tasks.protocol import Score
from full_scale.training.dry_run import model_shape
from full_scale.training.train import train

gguf = pytest.importorskip("gguf")
CHARACTERS = "pw0123456789abcdefghijklĠ"
"""A byte-level vocabulary without merges; the last is the space."""
KIND = gguf.GGMLQuantizationType.Q8_0


def written(config, file):
    """A Llama in the layout of llama.cpp: its names, and rows of queries and keys in pairs."""
    model, tokenizer = load_model(config), load_tokenizer(config)
    config, writer = model.config, gguf.GGUFWriter(str(file), "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    words = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(words)
    writer.add_token_scores([0.0] * len(words))
    writer.add_bos_token_id(tokenizer.eos_token_id)
    for role in ("eos", "pad", "unk"):
        getattr(writer, f"add_{role}_token_id")(getattr(tokenizer, f"{role}_token_id"))
    places = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, weight in model.state_dict().items():
        place, values = places.get_name(name, (".weight",)), weight.numpy()
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            halves = values.reshape(config.num_attention_heads, 2, -1, values.shape[1])
            values = np.ascontiguousarray(halves.swapaxes(1, 2).reshape(values.shape))
        kind = KIND if values.ndim == 2 else gguf.GGMLQuantizationType.F32
        writer.add_tensor(place, gguf.quants.quantize(values, kind), raw_dtype=kind)
    for step in ("header", "kv_data", "tensors"):
        getattr(writer, f"write_{step}_to_file")()
    writer.close()
    return file


def rounded(folder):
    """A model whose matrices are what eight bits a weight hold."""
    model = AutoModelForCausalLM.from_pretrained(folder)
    for weight in model.parameters():
        if weight.ndim == 2:
            held = gguf.quants.dequantize(gguf.quants.quantize(weight.detach().numpy(), KIND), KIND)
            weight.data.copy_(torch.from_numpy(held))
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A folder of safetensors, and a quantised GGUF file of the same model in a folder of its own."""
    folder = tmp_path_factory.mktemp("models")
    config = ModelConfig(path=str(rounded(tiny_llama(folder / "plain", words=CHARACTERS))))
    (folder / "gguf").mkdir()
    return config, written(config, folder / "gguf" / "model.gguf")


@pytest.mark.parametrize("named", ["file", "folder"])
def test_it_is_the_model_that_was_written(both, named):
    plain, file = both
    config = ModelConfig(path=str(file if named == "file" else file.parent))
    assert model_shape(config) == model_shape(plain)
    found, expected = load(config), load(plain)
    ids = torch.arange(3, 20)[None]
    assert torch.equal(found.model(ids).logits, expected.model(ids).logits)
    assert found.model.get_input_embeddings().weight.dtype == torch.float32
    assert found.model.name_or_path == config.path
    # Its words at their places; transformers adds an end token of its own to a vocabulary without.
    assert expected.tokenizer.get_vocab().items() <= found.tokenizer.get_vocab().items()
    assert found.tokenizer.eos_token_id == expected.tokenizer.eos_token_id


def test_safetensors_come_first_and_one_file_of_several_must_be_named(both, tmp_path, monkeypatch):
    plain, file = both
    assert source(plain.path) == {"pretrained_model_name_or_path": plain.path}
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(file.read_bytes())
    with pytest.raises(ValueError, match=r"model\.path=.*a\.gguf, b\.gguf"):
        gguf_file(tmp_path)
    assert gguf_file(tmp_path / "b.gguf") == tmp_path / "b.gguf"
    monkeypatch.setattr("full_scale.models.load.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pip install -e '\.\[gguf\]'"):
        load_model(ModelConfig(path=str(file)))


class EvenLength(Rule):
    @staticmethod
    def score(example, text):
        return Score(len(text) % 2 == 0, "wrong" if len(text) % 2 else "correct")


@pytest.mark.slow
@pytest.mark.filterwarnings(TRL_WARNS)
# peft looks for the base's config.json to see whether its vocabulary has changed; it has not.
@pytest.mark.filterwarnings("ignore:Could not find a config file in:UserWarning")
@pytest.mark.parametrize("lora", [None, {"r": 2, "target_modules": "all-linear"}])
def test_it_is_trained_as_any_model(both, tmp_path, lora):
    method = MethodConfig(name="GRPO")
    recipe, task, presampling, _ = stage_inputs(tmp_path, method, model={"lora": lora}, max_steps=1)
    recipe = replace(recipe, model=replace(recipe.model, path=str(both[1])))
    initial = load(recipe.model)
    made = train(recipe, replace(task, verifier=EvenLength()), presampling, initial.hashes)
    trained = load_trained(recipe.model, tmp_path / "runs" / made.run / "model", initial)
    ids = torch.arange(3, 20)[None]
    assert not torch.equal(trained.model(ids).logits, initial.model(ids).logits)
    assert trained.hashes.model != initial.hashes.model
