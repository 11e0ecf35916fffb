"""Finished work by name, kept as it is done: a file that only grows, and goes on where it was stopped.

Trainings, batches of sampled answers and stages of a reproduction are kept here. What they depend on
(settings, hashes, versions) is a journal's identity, or part of a key.
"""

import json
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

from .errors import RefusedError, argument_error
from .files import naming
from .processes import run_jobs
from .record import as_json, from_json

_LOG = logging.getLogger(__name__)
Job = TypeVar("Job")


class Journal(Mapping[str, Any]):
    """A JSONL file: what the work depends on, then a key and a value a line; the last one of a key counts.

    A line is on the disk before an assignment ends. A last line that was cut off is dropped, and only its
    work is lost. However long the file, one line of it is in memory.

    Args:
        path: The file; it is made if need be, with its folder.
        identity: What the work depends on; entries of another one raise ValueError. With None the file is
            read only, and may be missing.
        kind: Type of the values for `from_json`; with None they are as JSON has them.
        may_miss: Skip damaged lines with a warning: their work can be done again. Else RefusedError.
    """

    def __init__(
        self, path: Path, identity: Mapping[str, Any] | None, kind: Any = None, *, may_miss: bool = False
    ) -> None:
        self.path, self._kind, self._may_miss = path, kind, may_miss
        self.identity = json.loads(json.dumps(identity))
        """What the work depends on; None while that is not known."""
        self._places: dict[str, tuple[Path, int]] = {}
        stored, complete = self._find(path)
        if identity is None:
            self.identity = stored
        elif self._places or stored == self.identity:
            require_same(self.identity, stored, self._files)
            os.truncate(path, complete)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            self._write(self.identity)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, key: str) -> Any:
        path, place = self._places[key]
        with path.open("rb") as file:
            file.seek(place)
            value = json.loads(file.readline())["value"]
        if self._kind is None:
            return value
        try:
            return from_json(self._kind, value)
        except ValueError as error:
            number = path.read_bytes()[:place].count(b"\n") + 1
            words = re.sub(r"\S{60,}", "...", str(error))
            raise RefusedError(f"{path} line {number}: {words}; remove the line to do it anew") from error

    def __setitem__(self, key: str, value: Any) -> None:
        """Add an entry, and wait until it is on the disk."""
        self._places[key] = self.path, self._write({"key": key, "value": as_json(value)})

    def _write(self, entry: Any) -> int:
        with naming(self.path.parent), self.path.open("ab") as file:
            place = file.tell()
            file.write(json.dumps(entry).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        return place

    @property
    def _files(self) -> Path:
        """What to remove to begin anew: where lines may be missing, all journals beside this one too."""
        return self.path.with_name(f"*{self.path.suffix}") if self._may_miss else self.path

    def _find(self, path: Path) -> tuple[Any, int]:
        """Note the places of a file's entries; its identity, and the end of its last whole line.

        The entries of another identity than this journal's are left out where lines may be missing.
        """
        stored: Any = None
        end = 0
        with path.open("rb") if path.is_file() else BytesIO() as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                begin, end = end, end + len(line)
                entry, damage = _entry(line, first=number == 1)
                if damage and self._may_miss and number > 1:
                    _LOG.warning("%s line %d %s: what it held is done anew", path, number, damage)
                elif damage:
                    words = f"line {number} {damage}: remove {self._files} to begin anew"
                    raise RefusedError(f"{path} is damaged, {words}")
                elif number == 1:
                    stored = entry
                    if path != self.path and stored != self.identity:
                        break
                else:
                    self._places[entry["key"]] = path, begin
        return stored, end


def _entry(line: bytes, *, first: bool) -> tuple[Any, str]:
    """A line's identity or entry, and what is wrong with it, in words."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        return None, f"is no JSON ({error})"
    sound = isinstance(entry, dict)
    if sound and not first:
        sound = entry.keys() == {"key", "value"} and isinstance(entry["key"], str)
    return entry, "" if sound else "is no entry"


def fill(
    rows: "Journal | dict[str, Any]",
    make: Callable[[Job], Any],
    jobs: Mapping[str, Job],
    *,
    done: Callable[[int, int], None],
    workers: int | None = None,
    anew: bool = False,
    finish_begun: bool = False,
    **processes: Any,
) -> None:
    """Make the rows that are missing, or all ``anew``: rows[name] = make(jobs[name]), written as it ends.

    Jobs begin in their order. ``done`` gets the numbers of finished and of all jobs as each row is written.
    Without ``workers`` all rows are made in this process; further options are those of `run_jobs`. With
    ``finish_begun`` an interruption waits for the rows under way, and keeps them.
    """
    missing = [(name, job) for name, job in jobs.items() if anew or name not in rows]
    finished = len(jobs) - len(missing)

    def keep(pair: tuple[str, Job], row: Any) -> None:
        nonlocal finished
        rows[pair[0]] = row
        finished += 1
        done(finished, len(jobs))

    row_of = partial(_row_of, make)
    pairs: Iterator[tuple[tuple[str, Job], Any]] = ((pair, row_of(pair)) for pair in missing)
    if workers is not None:
        late = keep if finish_begun else None
        pairs = run_jobs(row_of, missing, workers=workers, on_late=late, **processes)
    for pair, row in pairs:
        keep(pair, row)


def _row_of(make: Callable[[Job], Any], pair: tuple[str, Job]) -> Any:
    return make(pair[1])


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
    __repr__ = str.__str__


def difference_of(expected: Any, stored: Any) -> tuple[Any, str]:
    """Two values that differ, for an error's words; of two mappings, the keys where they do."""
    if not isinstance(expected, dict) or not isinstance(stored, dict):
        return expected, repr(stored)
    keys = {
        "changed": [key for key in expected if key in stored and expected[key] != stored[key]],
        "new": [key for key in expected if key not in stored],
        "gone": [key for key in stored if key not in expected],
    }
    named = [
        f"{len(names)} {what} ({', '.join(map(repr, names[:3]))}{', ...' if len(names) > 3 else ''})"
        for what, names in keys.items()
        if names
    ]
    for key in keys["changed"][:1]:
        if isinstance(expected[key], dict):
            named.append(f"of the first changed: {difference_of(expected[key], stored[key])[0]}")
    return _Words(f"<{', '.join(named)}>"), "others"
