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
    write_text(path, compact_json(value) + "\n")


def compact_json(value: Any, depth: int = 0) -> str:
    """The value as JSON; what is short shares a line, and numbers and words alone have one."""
    if not isinstance(value, _NESTING):
        return _line(value)
    entries = value.values() if isinstance(value, dict) else value
    if not any(isinstance(entry, _NESTING) for entry in entries):
        line = _line(value)
        if len(line) <= PLAIN:
            return line
        if not isinstance(value, dict):
            size = max(1, len(value) * PLAIN // len(line))
            parts = [_line(value[start : start + size])[1:-1] for start in range(0, len(value), size)]
            return _lines("[]", parts, depth)
    # Each part is written once: a line of many is made of theirs.
    parts = [compact_json(entry, depth + 1) for entry in entries]
    names = [_line({key: 0})[1:-3] for key in value] if isinstance(value, dict) else []
    brackets = "{}" if names else "[]"
    if sum(map(len, parts)) + sum(map(len, names)) + len(parts) + len(names) + 1 <= SHORT:
        inside = ",".join(map(":".join, zip(names, parts, strict=True)) if names else parts)
        return brackets[0] + inside + brackets[1]
    return _lines(brackets, list(map(": ".join, zip(names, parts, strict=True))) if names else parts, depth)


_NESTING = (dict, list, tuple)
_encoded = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def _line(value: Any) -> str:
    try:
        return _encoded(value)
    except ValueError:
        return _encoded(_finite(value))


def _lines(brackets: str, parts: list[str], depth: int) -> str:
    margin = "\n" + " " * depth
    return f"{brackets[0]}{margin} {f',{margin} '.join(_packed(parts))}{margin}{brackets[1]}"


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
