"""Atomic file writing: a file is either complete or absent."""

import json
import math
import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STANDARD_OUTPUT = Path("-")
FORMATS = ("pdf", "png", "svg")  # Formats of figures.
_MOST_UNPACKED, _MOST_RATIO = 2**31, 100


def require_unpackable(path: Path, sizes: Iterable[int]) -> None:
    """Refuse a compressed file before it is unpacked, if it would fill the memory.

    Args:
        path: File.
        sizes: Bytes of its parts once unpacked; only as many are read as are needed.

    Raises:
        ValueError: If the parts exceed 2 GiB and a hundred times the file's own size.
    """
    most, total = max(_MOST_UNPACKED, _MOST_RATIO * path.stat().st_size), 0
    for size in sizes:
        if (total := total + size) > most:
            raise ValueError(
                f"file={str(path)!r} is not allowed: it would unpack to more than {most / 2**30:.0f} GiB"
            )


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces `path` once the file is complete and on the disk.

    If the block raises, the temporary file is removed and `path` is unchanged. A link is followed.
    """
    path = path.resolve()
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        with naming(path):
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the path to an OSError without a file name, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def write_bytes(path: Path, data: bytes) -> None:
    """Write the bytes atomically: the old file stays until the new one is complete.

    A device or a named pipe is written to directly; "-" is standard output.
    """
    if path == STANDARD_OUTPUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        return
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def write_text(path: Path, text: str) -> None:
    """Write the text as UTF-8, atomically."""
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    """Write the value as JSON, atomically.

    Infinite numbers become the strings "inf" and "-inf", because JSON has none. Short values, and lists of
    numbers or words, take one line, so that files are small and their differences readable.
    """
    write_text(path, _json(value) + "\n")


def _json(value: Any, margin: str = "\n") -> str:
    line = _line(value)
    entries = value.values() if isinstance(value, dict) else value
    if len(line) <= _SHORT or not isinstance(value, _NESTING):
        return line
    if not any(isinstance(entry, _NESTING) for entry in entries):
        return line
    inner = margin + " "
    parts = [_json(entry, inner) for entry in entries]
    if isinstance(value, dict):
        parts = [f"{_line({name: 0})[1:-3]}: {part}" for name, part in zip(value, parts, strict=True)]
    return line[0] + inner + f",{inner}".join(parts) + margin + line[-1]


_NESTING, _SHORT = (dict, list, tuple), 400
_encoded = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def _line(value: Any) -> str:
    try:
        return _encoded(value)
    except ValueError:
        return _encoded(_finite(value))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
