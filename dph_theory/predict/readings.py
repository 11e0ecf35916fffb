"""Each trainer's reader, and what trainers.toml says beside it, such as which settings change no law."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from . import readers
from .reading import Configuration
from .settings import Asked


@dataclass(frozen=True)
class Reader:
    """One trainer's.

    `files` were read at the version that its configurations bear; a setting that begins with one of `begin`
    tells the trainer; `group` names the setting of the answers a prompt; `better` are settings that put a
    penalty where it keeps more, the best first; `sampling` are the names of what `sampling.py` reads. Of
    settings that `read` leaves alone no law is changed by `harmless` ones whatever their value, by `plain`
    ones at some, by `clips` where a batch is used once.
    """

    read: Callable[[Asked], Configuration]
    files: str
    begin: tuple[str, ...]
    group: str
    better: tuple[Mapping[str, Any], ...]
    harmless: tuple[str, ...]
    plain: Mapping[str, tuple[Any, ...]]
    clips: tuple[str, ...]
    sampling: Mapping[str, str]


def _readers() -> dict[str, Reader]:
    rows = tomllib.loads(Path(__file__).with_name("trainers.toml").read_text(encoding="utf-8"))
    launcher = rows.pop("launcher")["harmless"]
    return {
        name: Reader(
            getattr(readers, name.replace("-", "_")),
            row["files"],
            tuple(row["begin"].split()),
            row["group"],
            tuple(row.get("better", ())),
            (*row["harmless"].split(), *launcher.split()),
            MappingProxyType({setting: tuple(values) for setting, values in row["plain"].items()}),
            tuple(row["clips"].split()),
            MappingProxyType(row["sampling"]),
        )
        for name, row in rows.items()
    }


READERS: Mapping[str, Reader] = MappingProxyType(_readers())
"""By trainer, in lower case."""
