"""Which weights and which tokenizer: hashes that a rehearsal buffer is bound to."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import snapshot_download

from dph_theory.support.errors import argument_error

from ..storage.tensors import hash_files
from .gguf import gguf_file

_TOKENIZER = (
    "tokenizer.json",
    "tokenizer.model",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "chat_template.jinja",
)


@dataclass(frozen=True)
class ModelHashes:
    """Which weights and which tokenizer: computed once and passed on, for weights may be large."""

    model: str
    tokenizer: str

    @classmethod
    def of(cls, name: str | Path) -> "ModelHashes":
        """Those of a folder or of a hub name; errors as `model_hash` and `tokenizer_hash`."""
        return cls(model_hash(name), tokenizer_hash(name))

    def as_dict(self) -> dict[str, str]:
        """Under the names of the stored records: model_hash, tokenizer_hash."""
        return {"model_hash": self.model, "tokenizer_hash": self.tokenizer}


def model_hash(name: str | Path, known: Mapping[str, str] | None = None) -> str:
    """The sha256 of a model's safetensors weights or GGUF file; an adapter's includes that of its base.

    `name` is a folder, or a hub name whose snapshot is on this machine already; `known` are hashes by name,
    where a base's may be found. Raises ValueError where there is neither, or no such weights.
    """
    file = gguf_file(name)
    if file is not None:
        return hash_files([file])
    folder = _snapshot(name)
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise argument_error("model", str(name), "a folder or hub name with safetensors weights")
    found = hash_files(weights)
    adapter = folder / "adapter_config.json"
    if adapter.is_file():
        base = json.loads(adapter.read_text(encoding="utf-8"))["base_model_name_or_path"]
        return f"{(known or {}).get(base) or model_hash(base)}+{found}"
    return found


def tokenizer_hash(name: str | Path) -> str:
    """The sha256 of what decides a tokenizer's ids and its chat template; `name` as in `model_hash`."""
    file = gguf_file(name)
    if file is not None:
        return hash_files([file])
    folder = _snapshot(name)
    files = [folder / file for file in _TOKENIZER if (folder / file).is_file()]
    if not files:
        raise argument_error(
            "tokenizer", str(name), f"a folder or hub name with one of {', '.join(_TOKENIZER)}"
        )
    return hash_files(files)


def _snapshot(name: str | Path) -> Path:
    if Path(name).is_dir():
        return Path(name)
    try:
        return Path(snapshot_download(str(name), local_files_only=True))
    except (OSError, ValueError) as error:
        raise argument_error("model", str(name), "a folder, or a hub name already on this machine") from error
