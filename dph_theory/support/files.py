"""Files that are either complete or not there."""

import json
import math
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STANDARD_OUTPUT = Path("-")
FORMATS = ("pdf", "png", "svg")
"""What figures are drawn as."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, for a file that takes its place once it is whole and on the disk.

    If the block raises, the temporary file is removed, and what was at `path` stays. A link is followed.
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
    """Name the path in an OSError that has none of its own, as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def write_bytes(path: Path, data: bytes) -> None:
    """Write the bytes; the old file stays until the new one is whole.

    What is no regular file, such as a device or a named pipe, is written into; "-" is standard output.
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
    """Write the text as UTF-8; the old file stays until the new one is whole."""
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    """Write the value as JSON; the old file stays until the new one is whole.

    Infinite numbers become the strings "inf" and "-inf", since JSON has none. What is short, and a list of
    numbers or words, takes one line, so that files are small and their differences can be read.
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
