"""Models stored as one GGUF file: transformers reads them, quantised weights turned back into numbers."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dph_theory.support.errors import argument_error


def gguf_file(path: str | Path) -> Path | None:
    """The GGUF file that a model's path is, or the only one in a folder without safetensors; else none.

    ValueError for a folder of several, and if the package gguf is not installed.
    """
    place = Path(path)
    found = [place] if place.suffix == ".gguf" and place.is_file() else sorted(place.glob("*.gguf"))
    if not found or any(place.glob("*.safetensors")):
        return None
    if len(found) > 1:
        names = ", ".join(file.name for file in found)
        raise argument_error("model.path", str(path), f"one of its GGUF files: {names}")
    if find_spec("gguf") is None:
        raise argument_error(
            "model.path", str(path), "safetensors, or install gguf: pip install -e '.[gguf]'"
        )
    return found[0]


def source(path: str | Path) -> dict[str, Any]:
    """The arguments of transformers' `from_pretrained` that say where a model, or its tokenizer, is."""
    file = gguf_file(path)
    if file is None:
        return {"pretrained_model_name_or_path": str(path)}
    return {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
