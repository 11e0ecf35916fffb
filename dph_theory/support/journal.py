"""Journal of finished work by name: a file that only grows, and from which interrupted work resumes.

Trainings, batches of sampled answers and stages of a reproduction are stored here. Their dependencies
(settings, hashes, versions) are a journal's identity, or part of a key.
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
    """A JSONL file: first the identity, then a key and a value per line; the last line of a key counts.

    An assignment returns once the line is on the disk. An incomplete last line is dropped, and only its work
    is lost. Only one line of the file is in memory at a time.

    Args:
        path: The file; it is created if necessary, with its folder.
        identity: Dependencies of the work; entries of another identity raise ValueError. With None the file
            is read only, and may be missing.
        kind: Type of the values for `from_json`; None leaves them as JSON has them.
        may_miss: Skip damaged lines with a warning, because their work can be repeated; else RefusedError.
    """

    def __init__(
        self, path: Path, identity: Mapping[str, Any] | None, kind: Any = None, *, may_miss: bool = False
    ) -> None:
        self.path, self._kind, self._may_miss = path, kind, may_miss
        self.identity = json.loads(json.dumps(identity))  # None while unknown.
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
            raise RefusedError(f"{path} line {number}: {words}; remove the line to repeat it") from error

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
        """Path to remove for a fresh start; a pattern for the folder's journals if lines may be missing."""
        return self.path.with_name(f"*{self.path.suffix}") if self._may_miss else self.path

    def _find(self, path: Path) -> tuple[Any, int]:
        """Index the entries of a journal file; returns its identity and the end of its last whole line."""
        # If lines may be missing, entries of another identity are skipped.
        stored: Any = None
        end = 0
        with path.open("rb") if path.is_file() else BytesIO() as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                begin, end = end, end + len(line)
                entry, damage = _entry(line, first=number == 1)
                if damage and self._may_miss and number > 1:
                    _LOG.warning("%s line %d %s: its work is repeated", path, number, damage)
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
    """Parse a line into an identity or an entry; returns it, and what is damaged in words or ""."""
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
    """Compute the missing rows (all rows with ``anew``): rows[name] = make(jobs[name]), each written at once.

    Jobs start in their order. ``done`` gets the numbers of finished jobs and of all jobs as each row is
    written. Without ``workers`` all rows are computed in this process; further options are those of
    `run_jobs`. With ``finish_begun`` an interruption waits for the rows in progress and stores them.
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
    """Raise ValueError with the first setting of some work that differs from the file's setting."""
    for key in sorted({*stored, *expected}):
        if stored.get(key) != expected.get(key):
            value, other = difference_of(expected.get(key), stored.get(key))
            allowed = (
                f"{path} was begun with {other}; keep to that, take another output, or "
                "remove it to begin anew"
            )
            raise argument_error(key, value, allowed)


class _Words(str):
    """Words that an error shows without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def difference_of(expected: Any, stored: Any) -> tuple[Any, str]:
    """Stored and expected value in the words of an error; for mappings, only the keys that differ."""
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
