"""Results as JSON and back: frozen classes, and the record that passes from computation to drawing."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from .errors import RefusedError, argument_error
from .rows import json_document

T = TypeVar("T")
_PLAIN = {str, int, float, bool, type(None)}
_LONGEST, _END = 8, 3  # A longer sequence is shown by so many entries from either end.


def flat(value: Mapping[Any, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested settings; the names are joined by dots."""
    settings: dict[str, Any] = {}
    for name, inner in value.items():
        nested = isinstance(inner, Mapping) and inner
        settings |= flat(inner, f"{prefix}{name}.") if nested else {f"{prefix}{name}": inner}
    return settings


def as_json(value: Any, digits: int | None = None) -> Any:
    """Convert dataclasses to dictionaries without default Nones, and sequences and arrays to lists.

    With `digits`, floats are rounded to that number of significant digits.
    """
    if is_dataclass(value):
        entries = [(field, getattr(value, field.name)) for field in fields(value)]
        stored = [(field, entry) for field, entry in entries if not (entry is None is field.default)]
        return {field.name: as_json(entry, digits) for field, entry in stored}
    if isinstance(value, dict):
        return {key: as_json(entry, digits) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        # Long lists of numbers are common, and need no call per entry.
        if digits is None and _PLAIN.issuperset(map(type, value)):
            return list(value)
        return [as_json(entry, digits) for entry in value]
    if hasattr(value, "tolist"):  # Arrays and numbers of numpy, which results without them need not import.
        return as_json(value.tolist(), digits)
    if isinstance(value, float) and digits is not None:
        return float(f"{value:.{digits}g}")
    return value


def readable(value: Any) -> str:
    """`repr` of a dataclass or named tuple, with its numbers rounded to six digits."""
    names = getattr(value, "_fields", None) or vars(value)
    shown = (f"{name}={_plain(getattr(value, name))}" for name in names)
    return f"{type(value).__name__}({', '.join(shown)})"


class Readable:
    """Base of result dataclasses whose repr is `readable`."""

    __repr__ = readable


def _plain(entry: Any) -> str:
    import numpy as np

    if isinstance(entry, np.ndarray) and entry.ndim == 0:
        entry = entry[()]
    if isinstance(entry, np.ndarray):
        return np.array2string(entry, precision=6, threshold=8, edgeitems=3, separator=", ").replace("\n", "")
    if isinstance(entry, float | np.floating):
        return repr(float(f"{entry:.6g}"))
    if type(entry) in (tuple, list) and len(entry) > _LONGEST:
        ends = (*map(_plain, entry[:_END]), "...", *map(_plain, entry[-_END:]))
        return f"({', '.join(ends)}; {len(entry)} in all)"
    return repr(entry.item() if isinstance(entry, np.generic) else entry)


def from_json(kind: type[T], value: Any) -> T:
    """Rebuild a dataclass of that kind from the result of `as_json`, also after a round trip through a file.

    Raises ValueError naming the field that is missing or of another type.
    """
    from pydantic import ValidationError  # Imported late: callers that read no results do not need it.

    hashable: Any = kind
    try:
        return _adapter(hashable).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, (kind.__name__, *first["loc"])))
        raise argument_error(where, first["input"], first["msg"]) from error


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


_KEYS = ("kind", "seed", "config", "results", "findings", "versions")


def record(
    kind: str,
    *,
    seed: int,
    config: Mapping[str, Any],
    results: Mapping[str, Any],
    findings: Sequence[str],
    packages: Sequence[str] = ("numpy",),
) -> dict[str, Any]:
    """Build a stored result: its kind, its inputs, the numbers, and the findings.

    `findings` are sentences computed from the numbers; `packages` are the libraries whose versions matter.
    """
    return {
        "kind": kind,
        "seed": seed,
        "config": dict(config),
        "results": dict(results),
        "findings": list(findings),
        "versions": versions(*packages),
    }


def versions(*packages: str) -> dict[str, str]:
    """Versions of Python, of this package and of the named packages."""
    return {"python": platform.python_version(), **{name: _version(name) for name in ("dph", *packages)}}


def checked(value: Any, kind: str) -> dict[str, Any]:
    """Return the value if it is a record of that kind; ValueError names the missing or different part."""
    keys = sorted(value) if isinstance(value, dict) else value
    missing = [key for key in _KEYS if not isinstance(value, dict) or key not in value]
    if missing:
        raise argument_error("record", keys, f"needs the keys {missing}")
    if value["kind"] != kind:
        raise argument_error("record.kind", value["kind"], f"only {kind!r}")
    return value


def stored_record(path: Path, kind: str) -> dict[str, Any]:
    """Read the record of that kind in a JSON file; ValueError names the file and what is wrong in it."""
    value = json_document(path)
    try:
        return checked(value, kind)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def read_record(path: Path, kind: str, made_by: str) -> dict[str, Any]:
    """Read the record of that kind that the command `made_by` wrote; RefusedError if it is missing.

    Raises ValueError if the file has no such record.
    """
    if not path.is_file():
        raise RefusedError(f"no {path.name} in {path.parent}: run {made_by}")
    try:
        return stored_record(path, kind)
    except ValueError as error:
        raise ValueError(f"{error}; remove it, and run {made_by}") from error


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
