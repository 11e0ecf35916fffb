"""Work done batch by batch, kept as it is done: a file that only grows, and goes on where it was stopped."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dph_theory.support.errors import argument_error


class Journal:
    """A JSONL file: what the work depends on, then an entry a line, on the disk before `append` returns.

    A last line that was cut off is dropped, and with it nothing but the work of one batch. Opening one that
    depends on anything else raises ValueError, which names what differs, and leaves the file as it is.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        wanted = json.loads(json.dumps(identity))
        lines = self._whole_lines()
        if lines:
            self._check(lines[0], wanted)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.append(wanted)
        self.entries: list[Any] = lines[1:]

    def append(self, entry: Any) -> None:
        """Add a line, and wait until it is on the disk."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _whole_lines(self) -> list[Any]:
        """The entries there are; what follows the last line end is cut off."""
        if not self.path.is_file():
            return []
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            with self.path.open("r+b") as file:
                file.truncate(whole)
        try:
            return [json.loads(line) for line in data[:whole].splitlines()]
        except ValueError as error:
            raise argument_error(
                "journal", str(self.path), f"one JSON value a line; remove the file ({error})"
            ) from error

    def _check(self, found: Any, wanted: Mapping[str, Any]) -> None:
        for key in sorted({*found, *wanted}):
            if found.get(key) != wanted.get(key):
                begun = f"{self.path} was begun with {found.get(key)!r}"
                allowed = (
                    f"{begun}; keep to that, take another output folder, or remove the file to begin anew"
                )
                raise argument_error(key, wanted.get(key), allowed)
