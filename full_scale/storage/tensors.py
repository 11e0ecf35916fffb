"""Binary files that are either complete or absent, and the hashes that identify them."""

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from dph_theory.support.errors import RefusedError
from dph_theory.support.files import naming, write_bytes


def write_tensors(
    path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None
) -> None:
    """Write a safetensors file atomically: the old file remains until the new one is complete."""
    # Clones, because safetensors refuses views that share their memory.
    data = save(
        {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}, dict(metadata or {})
    )
    write_bytes(path, data)


@contextmanager
def storing(folder: Path) -> Iterator[None]:
    """Convert write errors into OSError with the folder's name and the free disk space.

    The errors of torch and safetensors do not say that a disk is full, and the system's error for a full disk
    does not say where.
    """
    try:
        with naming(folder):
            yield
    except RefusedError:
        raise
    except (RuntimeError, SafetensorError) as error:
        free = shutil.disk_usage(folder).free
        raise OSError(f"{folder}: writing failed with {free:,} bytes free ({error})") from error


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read tensors and metadata of a safetensors file; RefusedError if the file is missing or damaged."""
    if not path.is_file():
        raise RefusedError(f"no {path.name} in {path.parent}: remove the folder to restart")
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
    except SafetensorError as error:
        raise RefusedError(f"{path} is damaged ({error}): remove {path.parent} to restart") from error


def hash_files(paths: Iterable[Path]) -> str:
    """The sha256 of the files' names and contents, in order of name."""
    digest = hashlib.sha256()
    for path in sorted(paths, key=lambda path: path.name):
        digest.update(f"{path.name}:{path.stat().st_size}:".encode())
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def database_hashes(references: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The sha256 of every database that references name under "database", by file name.

    Raises:
        RefusedError: If a database is missing.
    """
    places = {str(reference["database"]) for reference in references if reference.get("database")}
    hashes: dict[str, str] = {}
    for place in sorted(places):
        path = Path(place)
        if not path.is_file():
            raise RefusedError(f"there is no database {path}: answers to its questions cannot be judged")
        stat = path.stat()
        digest = _file_hash(path, stat.st_size, stat.st_mtime_ns)
        earlier = hashes.get(path.name)
        hashes[path.name] = digest if earlier is None else hash_values([earlier, digest])
    return hashes


@lru_cache(maxsize=4096)
def _file_hash(path: Path, size: int, changed: int) -> str:
    return hash_files([path])


def hash_values(values: Any, tensors: Iterable[Tensor] = ()) -> str:
    """The sha256 of JSON-ready values and of the dtypes, shapes and bytes of tensors."""
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode())
    for tensor in tensors:
        digest.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
        digest.update(tensor.contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
