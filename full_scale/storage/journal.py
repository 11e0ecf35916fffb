"""Work done batch by batch, kept as it is done: a file that only grows, and goes on where it was stopped."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from accelerate import PartialState

from dph_theory.support.errors import RefusedError, argument_error

from .tensors import storing


class Journal:
    """A JSONL file: what the work depends on, then an entry a line, on the disk before `append` returns.

    A last line that was cut off is dropped, and with it nothing but the work of one batch. Opening one that
    depends on anything else raises ValueError, which names what differs, and leaves the file as it is; where
    no work has been done yet, it begins anew.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        expected = json.loads(json.dumps(identity))
        lines = self._whole_lines()
        if len(lines) > 1:
            self._check(lines[0], expected)
        elif lines != [expected]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            self.append(expected)
        self.first = expected
        """What the work depends on."""
        self.entries: list[Any] = lines[1:]

    def append(self, entry: Any) -> None:
        """Add a line, and wait until it is on the disk."""
        with storing(self.path.parent), self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _whole_lines(self) -> list[Any]:
        """The entries there are; what follows the last line end is cut off."""
        if not self.path.is_file():
            return []
        data = self.path.read_bytes()
        end = data.rfind(b"\n") + 1
        if end < len(data):
            with self.path.open("r+b") as file:
                file.truncate(end)
        try:
            return [json.loads(line) for line in data[:end].splitlines()]
        except ValueError as error:
            raise RefusedError(
                f"{self.path} is damaged, a line is no JSON ({error}): remove it to begin anew"
            ) from error

    def _check(self, stored: Any, expected: Mapping[str, Any]) -> None:
        for key in sorted({*stored, *expected}):
            if stored.get(key) != expected.get(key):
                value, other = difference_of(expected.get(key), stored.get(key))
                allowed = (
                    f"{self.path} was begun with {other}; keep to that, take another output folder, or "
                    "remove the file to begin anew"
                )
                raise argument_error(key, value, allowed)


class _Words(str):
    """Words that an error shows as they stand."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def difference_of(expected: Any, stored: Any) -> tuple[Any, str]:
    """Two values that differ, for an error's words; of two mappings, the keys where they do."""
    if not isinstance(expected, dict) or not isinstance(stored, dict):
        return expected, repr(stored)
    changed = [key for key in expected if key in stored and expected[key] != stored[key]]
    inner = [(expected[key], stored[key]) for key in changed if isinstance(expected[key], dict)]
    parts = {
        "changed": changed,
        "new": [key for key in expected if key not in stored],
        "gone": [key for key in stored if key not in expected],
    }
    named = [f"{len(keys)} {what} ({_first(keys)})" for what, keys in parts.items() if keys]
    below = [f"of the first changed: {difference_of(*inner[0])[0]}"] if inner else []
    return _Words(f"<{', '.join([*named, *below])}>"), "others"


def _first(keys: list[str]) -> str:
    return ", ".join(map(repr, keys[:3])) + (", ..." if len(keys) > 3 else "")


def mine(pieces: int) -> range:
    """Of the pieces 0, 1, ... of some work, those that this process of a launch does."""
    processes = PartialState()
    return range(processes.process_index, pieces, processes.num_processes)


class SharedJournal:
    """A journal for each process of a launch, beside one another; their entries together are the work done.

    A process appends to its own. `entries` are those that were there when it was opened, of launches with
    any number of processes, by their keys; `gathered` reads them anew. Entries are mappings with a `key`.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self._path, rank = path, PartialState().process_index
        self._own = Journal(path if rank == 0 else path.with_stem(f"{path.stem}-{rank}"), identity)
        self.entries = self.gathered()
        # Nobody appends before everybody has read.
        PartialState().wait_for_everyone()

    def append(self, key: str, value: Any) -> None:
        """Add an entry to this process's journal, and wait until it is on the disk."""
        self._own.append({"key": key, "value": value})
        self.entries[key] = json.loads(json.dumps(value))

    def gathered(self) -> dict[str, Any]:
        """The entries of all processes; those of another beginning than this one's do not count."""
        values: dict[str, Any] = {}
        first = self._own.first
        for path in sorted(self._path.parent.glob(f"{self._path.stem}*{self._path.suffix}")):
            *lines, _ = path.read_bytes().split(b"\n")
            if lines and json.loads(lines[0]) == first:
                entries = map(json.loads, lines[1:])
                values |= {entry["key"]: entry["value"] for entry in entries if "key" in entry}
        return values
