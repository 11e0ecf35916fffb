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
SHORT, PLAIN = 800, 4000
"""The most characters of a line with something nested, and of one with plain values alone."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, for a file that takes its place once it is whole and on the disk.

    If the block raises, the temporary file is removed, and what was at `path` stays. A link is followed.
    """
    path = path.resolve()
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


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

    Infinite numbers become the strings "inf" and "-inf", since JSON has none. Lists of numbers or words take
    one line, short things share one, so that files are small and their differences can be read.
    """
    write_text(path, compact_json(_finite(value)) + "\n")


def compact_json(value: Any, depth: int = 0) -> str:
    """The value as JSON; what is short shares a line, and numbers and words alone have one."""
    line = json.dumps(value, allow_nan=False, separators=(",", ":"))
    entries = list(value.values()) if isinstance(value, dict) else value
    plain = isinstance(entries, list) and not any(isinstance(entry, dict | list) for entry in entries)
    if len(line) <= (PLAIN if plain else SHORT) or not isinstance(value, dict | list):
        return line
    if isinstance(value, dict):
        parts = [f"{json.dumps(str(key))}: {compact_json(entry, depth + 1)}" for key, entry in value.items()]
    elif plain:
        size = max(1, len(value) * PLAIN // len(line))
        chunks = [value[start : start + size] for start in range(0, len(value), size)]
        parts = [json.dumps(chunk, allow_nan=False, separators=(",", ":"))[1:-1] for chunk in chunks]
    else:
        parts = [compact_json(entry, depth + 1) for entry in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    margin = "\n" + " " * depth
    return f"{opening}{margin} {f',{margin} '.join(_packed(parts))}{margin}{closing}"


def _packed(parts: list[str]) -> list[str]:
    """Neighbours on one line, as long as it stays short."""
    lines: list[str] = []
    for part in parts:
        fits = lines and len(lines[-1]) + len(part) < SHORT and "\n" not in lines[-1] + part
        lines[-1:] = [f"{lines[-1]}, {part}"] if fits else [*lines[-1:], part]
    return lines


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
