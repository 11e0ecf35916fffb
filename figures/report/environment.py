"""The machine and the versions that a run depends on, and a digest of all that its results depend on."""

import hashlib
import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_LIBRARIES = ("dph", "numpy", "scipy", "sympy", "python-flint", "torch", "matplotlib", "latex2mathml")


def environment() -> dict[str, str]:
    """The machine and the versions that count."""
    return {
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        **{name: _version(name) for name in _LIBRARIES},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def digest(packages: Sequence[str], seed: int, quick: bool) -> str:
    """Changes with the seed, the size of the run, the environment, and the sources of these packages."""
    found = hashlib.sha256(json.dumps([seed, quick, environment()], sort_keys=True).encode())
    for package in packages:
        for path in sorted((_ROOT / package).rglob("*.py")):
            found.update(str(path.relative_to(_ROOT)).encode() + path.read_bytes())
    return found.hexdigest()
