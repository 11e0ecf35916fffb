"""Work done batch by batch, kept as it is done: a file that only grows, and goes on where it was stopped."""

import json
import logging
import os
import re
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from accelerate import PartialState

from dph_theory.support.errors import RefusedError, argument_error
from dph_theory.support.record import from_json

from .tensors import storing

_LOG = logging.getLogger(__name__)


class Journal:
    """A JSONL file: what the work depends on, then an entry a line, on the disk before `append` returns.

    A last line that was cut off is dropped, and with it nothing but the work of one batch. Opening one that
    depends on anything else raises ValueError, which names what differs, and leaves the file as it is; where
    no work has been done yet, it begins anew. However long the file, one line of it is in memory.
    RefusedError for a line that is no JSON, unless those that `may_miss` are work that can be done anew.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], *, may_miss: bool = False) -> None:
        self.path = path
        self.first = json.loads(json.dumps(identity))
        """What the work depends on."""
        lines, complete = 0, 0
        stored: Any = None
        for _, end, entry in _whole_lines(path, may_miss=may_miss):
            stored = entry if lines == 0 else stored
            lines, complete = lines + 1, end
        if lines > 1:
            require_same(self.first, stored, _files_of(path, may_miss))
        if lines > 1 or stored == self.first:
            os.truncate(path, complete)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            self.append(self.first)

    @property
    def entries(self) -> list[Any]:
        """All of them, as they stand in the file."""
        return [entry for _, _, entry in _whole_lines(self.path)][1:]

    def append(self, entry: Any) -> None:
        """Add a line, and wait until it is on the disk."""
        with storing(self.path.parent), self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _files_of(path: Path, shared: bool) -> Path:
    """What to remove to begin anew: of a shared journal all beside it, or the next refusal is of those."""
    return path.with_name(f"*{path.suffix}") if shared else path


def _whole_lines(path: Path, *, may_miss: bool = False) -> Iterator[tuple[int, int, Any]]:
    """The entries of a file that ended with their line, each after the places where that begins and ends.

    Those that `may_miss` are passed over, with a warning, where they are no entries of keys and values.
    """
    end = 0
    with path.open("rb") if path.is_file() else BytesIO() as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            end += len(line)
            try:
                entry = json.loads(line)
                sound = isinstance(entry, dict) if number == 1 else not may_miss or _is_entry(entry)
                damage = "" if sound else "is no entry"
            except (ValueError, RecursionError) as error:
                damage = f"is no JSON ({error})"
            if not damage:
                yield end - len(line), end, entry
            elif may_miss and number > 1:
                _LOG.warning("%s line %d %s: what it held is done anew", path, number, damage)
            else:
                files = _files_of(path, may_miss)
                raise RefusedError(f"{path} is damaged, line {number} {damage}: remove {files} to begin anew")


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.keys() == {"key", "value"} and isinstance(entry["key"], str)


def require_same(expected: Mapping[str, Any], stored: Mapping[str, Any], path: Path) -> None:
    """ValueError with the first setting of some work that differs from that of a file."""
    for key in sorted({*stored, *expected}):
        if stored.get(key) != expected.get(key):
            value, other = difference_of(expected.get(key), stored.get(key))
            allowed = (
                f"{path} was begun with {other}; keep to that, take another output, or "
                "remove it to begin anew"
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
    new, gone = (
        [key for key in one if key not in other] for one, other in ((expected, stored), (stored, expected))
    )
    named = [
        f"{len(keys)} {what} ({', '.join(map(repr, keys[:3]))}{', ...' if len(keys) > 3 else ''})"
        for what, keys in (("changed", changed), ("new", new), ("gone", gone))
        if keys
    ]
    inner = [
        difference_of(expected[key], stored[key])[0] for key in changed[:1] if isinstance(expected[key], dict)
    ]
    named += [f"of the first changed: {words}" for words in inner]
    return _Words(f"<{', '.join(named)}>"), "others"


class SharedJournal:
    """A journal for each process of a launch, beside one another; their entries together are the work done.

    A process appends to its own. The entries are those that were there when it was opened, of launches with
    any number of processes, and its own; `gather` looks for those of the others. They are read from the disk
    when they are asked for, by their keys, as values of a `kind`.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], kind: Any = dict) -> None:
        self._path, self._kind, rank = path, kind, PartialState().process_index
        own_path = path if rank == 0 else path.with_stem(f"{path.stem}-{rank}")
        self._own = Journal(own_path, identity, may_miss=True)
        self._places: dict[str, tuple[Path, int]] = {}
        self.gather()
        # Nobody appends before everybody has read.
        PartialState().wait_for_everyone()

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def __getitem__(self, key: str) -> Any:
        path, place = self._places[key]
        with path.open("rb") as file:
            file.seek(place)
            try:
                return from_json(self._kind, json.loads(file.readline())["value"])
            except ValueError as error:
                number = path.read_bytes()[:place].count(b"\n") + 1
                words = re.sub(r"\S{60,}", "...", str(error))
                raise RefusedError(f"{path} line {number}: {words}; remove the line to do it anew") from error

    def append(self, key: str, value: Any) -> None:
        """Add an entry to this process's journal, and wait until it is on the disk."""
        place = self._own.path.stat().st_size
        self._own.append({"key": key, "value": value})
        self._places[key] = self._own.path, place

    def gather(self) -> None:
        """Find the entries of all processes; those of another beginning than this one's do not count."""
        for path in sorted(self._path.parent.glob(f"{self._path.stem}*{self._path.suffix}")):
            for begin, _, entry in _whole_lines(path, may_miss=True):
                if begin:
                    self._places[entry["key"]] = path, begin
                elif entry != self._own.first:
                    break
