"""The one way to load a model: no pickled weights, no remote code, the recipe's dtype and attention."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from dph_theory.support.errors import argument_error

from ..recipe.schema import ModelConfig
from .gguf import gguf_file, source
from .hashes import ModelHashes, model_hash


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model ready to sample from on the device at hand, its tokenizer, and the hashes of their files."""

    model: Any
    tokenizer: Any
    hashes: ModelHashes


def load(config: ModelConfig) -> LoadedModel:
    """The initial model; ValueError if its path has neither safetensors nor GGUF weights, or no tokenizer."""
    model, tokenizer = _ready(load_model(config)), load_tokenizer(config)
    return LoadedModel(model, tokenizer, ModelHashes.of(config.path))


def load_trained(config: ModelConfig, folder: Path, initial: LoadedModel) -> LoadedModel:
    """A model trained from the initial one, whose tokenizer it shares, from its own folder."""
    hashes = ModelHashes(model_hash(folder, {config.path: initial.hashes.model}), initial.hashes.tokenizer)
    return LoadedModel(_ready(load_model(config, folder)), initial.tokenizer, hashes)


def load_model(config: ModelConfig, folder: Path | None = None) -> Any:
    """The initial model, or the one in a folder, on the CPU, as transformers loads it."""
    path = config.path if folder is None else str(folder)
    of, adapter = source(path), folder is not None and (folder / "adapter_config.json").is_file()
    if adapter and gguf_file(config.path) is not None:
        # transformers looks for the base of an adapter among safetensors alone.
        model = load_model(config)
        model.load_adapter(path)
        return model
    try:
        model = AutoModelForCausalLM.from_pretrained(
            **of,
            dtype=config.dtype,
            attn_implementation=config.attention,
            trust_remote_code=False,
            **({"quantization_config": GgufConfig(dequantize=True)} if "gguf_file" in of else {}),
            use_safetensors=True,
        )
    except OSError as error:
        allowed = f"a folder or hub name with safetensors weights, or a GGUF file ({error})"
        raise argument_error("model.path", path, allowed) from error
    if "gguf_file" in of:
        # Where to find it again: transformers keeps the folder alone.
        model.name_or_path = model.config._name_or_path = path
    return model


def load_tokenizer(config: ModelConfig, *, local: bool = False) -> Any:
    """The initial model's tokenizer, padding on the left; `local` for one that is on this machine already."""
    try:
        return AutoTokenizer.from_pretrained(
            **source(config.path), padding_side="left", trust_remote_code=False, local_files_only=local
        )
    except OSError as error:
        allowed = f"a folder or hub name with a tokenizer ({error})"
        raise argument_error("model.path", config.path, allowed) from error


def lora_config(config: ModelConfig) -> LoraConfig | None:
    """The adapter `model.lora` asks for, or none; ValueError for what peft's LoraConfig does not take."""
    if config.lora is None:
        return None
    try:
        return LoraConfig(task_type="CAUSAL_LM", **config.lora)
    except (TypeError, ValueError) as error:
        allowed = f"arguments of peft's LoraConfig ({error})"
        raise argument_error("model.lora", dict(config.lora), allowed) from error


def _ready(model: Any) -> Any:
    return model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
