"""Versions of the libraries whose internal hooks this package uses."""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from dph_theory.support.errors import RefusedError

TESTED: Mapping[str, tuple[str, ...]] = {"trl": ("1.16",), "transformers": ("5.23", "5.24")}
"""Tested minor versions; a minor release may move the hooks by which the trainer enters TRL."""


def check_versions() -> None:
    """Raise RefusedError, with the command to run, unless tested minor versions are installed."""
    installed = {name: _installed(name) for name in TESTED}
    minor = {name: ".".join(number.split(".")[:2]) for name, number in installed.items()}
    wrong = [name for name, number in minor.items() if number not in TESTED[name]]
    if wrong:
        have = ", ".join(f"{name} {installed[name]}" for name in wrong)
        need = " ".join(f"'{name}=={minors[-1]}.*'" for name, minors in TESTED.items())
        raise RefusedError(
            f"found {have}: the trainer was built and tested on other versions; pip install {need}"
        )


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"
