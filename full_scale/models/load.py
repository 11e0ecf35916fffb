"""Safe loading of models and tokenizers, and the hashes that identify their files."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from huggingface_hub import snapshot_download
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GenerationConfig, GgufConfig

from dph_theory.support.errors import RefusedError, argument_error

from ..recipe.schema import ModelConfig
from ..storage.places import require_here
from ..storage.tensors import hash_files
from .packaged import PACKAGED, packaged_model

if TYPE_CHECKING:
    from peft import LoraConfig


def gguf_file(path: str | Path) -> Path | None:
    """Return the GGUF file at a model's path, or the only one in a folder without safetensors; else None.

    Raises ValueError for a folder with several GGUF files, or if the package gguf is not installed.
    """
    place = Path(located(path))
    files = [place] if place.suffix == ".gguf" and place.is_file() else sorted(place.glob("*.gguf"))
    if not files or any(place.glob("*.safetensors")):
        return None
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise argument_error("model.path", str(path), f"one of its GGUF files: {names}")
    if find_spec("gguf") is None:
        raise argument_error("model.path", str(path), "safetensors, or gguf: pip install -e '.[gguf]'")
    return files[0]


def located(path: str | Path) -> str:
    """Return a model's path unchanged, or the folder of a packaged model's name."""
    return str(packaged_model(str(path))) if str(path) in PACKAGED and not Path(path).exists() else str(path)


def source(path: str | Path) -> dict[str, Any]:
    """Arguments of transformers' `from_pretrained` that locate a model or its tokenizer."""
    path = located(path)
    require_here("model.path", str(path), "a folder, a GGUF file or a name on the Hub")
    file = gguf_file(path)
    if file is None:
        return {"pretrained_model_name_or_path": str(path)}
    return {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}


_TOKENIZER = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "merges.txt")
_TOKENIZER_SETTINGS = (
    *("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("chat_template.jinja", "chat_template.json"),
)
_CONFIG = ("config.json", "adapter_config.json")
"""Files beside the weights that affect a model's output."""


@dataclass(frozen=True)
class ModelHashes:
    """Hashes of weights and tokenizer, computed once and passed on because weights may be large."""

    model: str
    tokenizer: str

    @classmethod
    def of_model(cls, name: str | Path) -> "ModelHashes":
        """Compute the hashes of a folder or Hub name; errors as `model_hash` and `tokenizer_hash`."""
        return cls(model_hash(name), tokenizer_hash(name))

    def as_dict(self) -> dict[str, str]:
        """Hashes under their names in stored records: model_hash, tokenizer_hash."""
        return {"model_hash": self.model, "tokenizer_hash": self.tokenizer}


def model_hash(name: str | Path, base_hashes: Mapping[str, str] | None = None) -> str:
    """The sha256 of a model's safetensors weights and configuration, or of its GGUF file.

    The hash of an adapter includes that of its base.

    `name` is a folder, or a Hub name with a local snapshot. `base_hashes` are known hashes by name, where
    that of an adapter's base is looked up. Raises ValueError without such a folder, snapshot or weights.
    """
    file = gguf_file(name)
    if file is not None:
        return hash_files([file])
    folder = _snapshot(name)
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise argument_error("model", str(name), "a folder or hub name with safetensors weights")
    configured = [folder / name for name in _CONFIG if (folder / name).is_file()]
    own_hash, base = hash_files([*weights, *configured]), adapter_base(folder)
    return own_hash if base is None else f"{(base_hashes or {}).get(base) or model_hash(base)}+{own_hash}"


def adapter_base(folder: str | Path) -> str | None:
    """Name of the base model that an adapter's folder declares; None for other folders."""
    file = Path(folder) / "adapter_config.json"
    return json.loads(file.read_text(encoding="utf-8"))["base_model_name_or_path"] if file.is_file() else None


def _tokenized(path: str | Path) -> str | Path:
    """Path of the tokenizer: the path itself, or the base of an adapter without its own tokenizer."""
    own = any((Path(path) / file).is_file() for file in _TOKENIZER)
    return path if own else adapter_base(path) or path


def tokenizer_hash(name: str | Path) -> str:
    """The sha256 of the files that determine token ids and chat template; `name` as in `model_hash`."""
    name = _tokenized(name)
    file = gguf_file(name)
    if file is not None:
        return hash_files([file])
    folder = _snapshot(name)
    files = [folder / file for file in (*_TOKENIZER, *_TOKENIZER_SETTINGS) if (folder / file).is_file()]
    if not any(file.name in _TOKENIZER for file in files):
        raise argument_error(
            "tokenizer", str(name), f"a folder or hub name with one of {', '.join(_TOKENIZER)}"
        )
    return hash_files(files)


def _snapshot(name: str | Path) -> Path:
    name = located(name)
    require_here("model", str(name), "a folder, or a hub name")
    if Path(name).is_dir():
        return Path(name)
    try:
        return Path(snapshot_download(str(name), local_files_only=True))
    except (OSError, ValueError) as error:
        raise RefusedError(f"model {str(name)!r} is not on this machine: run hf download {name}") from error


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model on its device, ready to sample from, with its tokenizer and the hashes of their files."""

    model: Any
    tokenizer: Any
    hashes: ModelHashes


def load(config: ModelConfig, *, stop: Sequence[str] = (), aside: bool = False) -> LoadedModel:
    """Load the initial model onto the available device, or onto the CPU if `aside`, to leave room for vLLM.

    The tokens in `stop` end its completions too. Raises ValueError if its path has neither safetensors nor
    GGUF weights, or no tokenizer.
    """
    model, tokenizer = load_model(config).eval(), load_tokenizer(config)
    _end_at(model, tokenizer, stop)
    return LoadedModel(model if aside else model.to(device()), tokenizer, ModelHashes.of_model(config.path))


def load_trained(config: ModelConfig, folder: Path, initial: LoadedModel) -> LoadedModel:
    """Load a trained model from its own folder, with the initial model's tokenizer and end tokens."""
    hashes = ModelHashes(model_hash(folder, {config.path: initial.hashes.model}), initial.hashes.tokenizer)
    model = load_model(config, folder).eval().to(initial.model.device)
    model.generation_config = initial.model.generation_config
    return LoadedModel(model, initial.tokenizer, hashes)


def load_trainable(config: ModelConfig, stop: Sequence[str] = ()) -> Any:
    """Load the initial model for training: trainable weights are float32, whatever the compute precision.

    An update of 1e-6 is lost in a 16-bit weight, which has three digits. The frozen weights below an adapter
    have the recipe's precision; peft makes the adapter's own float32.
    """
    model = load_model(replace(config, dtype="float32") if config.lora is None else config)
    _end_at(model, load_tokenizer(config), stop)
    return model


def _end_at(model: Any, tokenizer: Any, stop: Sequence[str]) -> None:
    if stop:
        model.generation_config.eos_token_id = stop_tokens(model, tokenizer, stop)


def stop_tokens(model: Any, tokenizer: Any, stop: Sequence[str] = ()) -> list[int]:
    """Token ids that end a completion: the tokenizer's end, all end tokens of the model, and `stop`.

    TRL stops at the same tokens. `model` is a model or its generation configuration. Raises ValueError for a
    text in `stop` that is not exactly one token.
    """
    named = [(text, tokenizer(text, add_special_tokens=False)["input_ids"]) for text in stop]
    for text, token_ids in named:
        if len(token_ids) != 1 or token_ids[0] == tokenizer.unk_token_id:
            pieces = tokenizer.convert_ids_to_tokens(token_ids)
            raise argument_error("sampling.stop", text, f"the text of one token; here it is {pieces}")
    declared = getattr(model, "generation_config", model).eos_token_id
    ids = declared if isinstance(declared, list) else [declared]
    return sorted({tokenizer.eos_token_id, *ids, *(token for _, (token,) in named)} - {None})


def declared_stop_tokens(config: ModelConfig, stop: Sequence[str] = ()) -> list[int]:
    """`stop_tokens` of the initial model, from its files without its weights."""
    place = source(config.path)
    folder = place["pretrained_model_name_or_path"]
    try:
        generation = GenerationConfig.from_pretrained(folder, local_files_only=True)
    except OSError:
        generation = GenerationConfig.from_model_config(
            AutoConfig.from_pretrained(**place, local_files_only=True, trust_remote_code=False)
        )
    return stop_tokens(generation, load_tokenizer(config, local=True), stop)


def load_model(config: ModelConfig, folder: Path | None = None) -> Any:
    """Load the initial model, or the model in a folder, onto the CPU with transformers."""
    path = config.path if folder is None else str(folder)
    place, base = source(path), adapter_base(path)
    base = config.path if base and folder is not None else base
    if base and gguf_file(base) is not None:
        # transformers looks for an adapter's base only among safetensors.
        model = load_model(replace(config, path=base))
        model.load_adapter(path)
        return model
    try:
        model = AutoModelForCausalLM.from_pretrained(
            **place,
            dtype=config.dtype,
            attn_implementation=config.attention,
            trust_remote_code=False,
            **({"quantization_config": GgufConfig(dequantize=True)} if "gguf_file" in place else {}),
            use_safetensors=True,
        )
    except (OSError, SafetensorError) as error:
        allowed = f"a folder or hub name with whole safetensors weights, or a GGUF file ({error})"
        raise argument_error("model.path", path, allowed) from error
    broken = next((name for name, weight in model.named_parameters() if not weight.isfinite().all()), None)
    if broken is not None:
        raise argument_error("model.path", path, f"weights that are numbers; {broken} contains NaN or inf")
    if "gguf_file" in place:
        # transformers stores only the folder.
        model.name_or_path = model.config._name_or_path = path
    return model


def load_tokenizer(config: ModelConfig, *, local: bool = False) -> Any:
    """Load the initial model's tokenizer, with left padding; `local` forbids downloads."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            **source(_tokenized(config.path)),
            padding_side="left",
            trust_remote_code=False,
            local_files_only=local,
        )
    except OSError as error:
        allowed = f"a folder or hub name with a tokenizer ({error})"
        raise argument_error("model.path", config.path, allowed) from error
    if tokenizer.eos_token_id is None:
        allowed = "a tokenizer with an eos_token in tokenizer_config.json; without it no answer would end"
        raise argument_error("model.path", config.path, allowed)
    return tokenizer


def lora_config(config: ModelConfig) -> "LoraConfig | None":
    """The adapter that `model.lora` specifies, or None; ValueError for arguments that peft rejects."""
    if config.lora is None:
        return None
    from peft import LoraConfig  # The import takes seconds; training all weights does not need it.

    try:
        return LoraConfig(task_type="CAUSAL_LM", **config.lora)
    except (TypeError, ValueError) as error:
        allowed = f"arguments of peft's LoraConfig ({error})"
        raise argument_error("model.lora", dict(config.lora), allowed) from error


def device() -> str:
    """Name of the device on which models compute: cuda if there is a GPU, else cpu."""
    return "cuda" if torch.cuda.is_available() else "cpu"


@contextmanager
def on_device(model: Any) -> Iterator[None]:
    """Move the model to the computing device, and back afterwards if it was on another."""
    own_device = model.device
    aside = own_device.type != device()
    if aside:
        model.to(device())
    try:
        yield
    finally:
        if aside:
            model.to(own_device)
