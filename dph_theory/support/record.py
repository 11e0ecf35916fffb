"""The JSON contract between what computes and what draws: a result with its seed, config and versions."""

import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .errors import argument_error

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
    """A stored result: what it is, what it was computed from, the numbers, and what follows from them.

    `findings` are sentences computed from the numbers; `packages` are the libraries whose versions count.
    """
    return {
        "kind": kind,
        "seed": seed,
        "config": dict(config),
        "results": dict(results),
        "findings": list(findings),
        "versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in ("dph", *packages)},
        },
    }


def checked(value: Any, kind: str) -> dict[str, Any]:
    """The value, if it is a record of that kind; ValueError says what is missing or different."""
    keys = sorted(value) if isinstance(value, dict) else value
    missing = [key for key in _KEYS if not isinstance(value, dict) or key not in value]
    if missing:
        raise argument_error("record", keys, f"needs the keys {missing}")
    if value["kind"] != kind:
        raise argument_error("record.kind", value["kind"], f"only {kind!r}")
    return value


def read_record(path: Path, kind: str, made_by: str) -> dict[str, Any]:
    """The record of that kind in a file; ValueError says what is wrong, `made_by` which command writes it."""
    if not path.is_file():
        raise argument_error("file", str(path), f"it is not there; {made_by} writes it")
    try:
        return checked(json.loads(path.read_text(encoding="utf-8")), kind)
    except json.JSONDecodeError as error:
        allowed = f"a record in JSON ({error}); remove it, and {made_by} writes it anew"
        raise argument_error("file", str(path), allowed) from error


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
