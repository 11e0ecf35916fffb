"""One store for every experiment: each row is written as it is made, and made once."""

import json
import lzma
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from dph_theory.support.errors import argument_error
from dph_theory.support.files import write_bytes
from dph_theory.support.journal import Journal, fill
from dph_theory.support.processes import prepared
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import as_json, from_json


@dataclass(frozen=True)
class Step:
    """Rows of a kind, made by a function "module:function" from the arguments that stand by each name."""

    kind: str
    function: str
    jobs: Mapping[str, tuple[Any, ...]]
    side_by_side: bool = False
    """Whether several workers may make them."""
    anew: bool = False
    """Whether rows that are there are made again."""


class RunStore:
    """Rows in a journal, by their kind and the name of the job that made them.

    What comes before a run (a prediction, an expected-gradient run) is a row of its own, made before the
    run is. `bases` is the folder of the models that runs start from. Without an identity rows are only read.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any] | None) -> None:
        self.bases = folder / "bases"
        self.journal = Journal(folder / "journal.jsonl", identity)

    def write(self, kind: str, name: str, row: Any) -> None:
        """Write a row down, on the disk before this returns; it replaces one of the same name."""
        self.journal[_key(kind, name)] = row

    def read(self, kind: str, row_type: Any, names: Iterable[str] | None = None) -> dict[str, Any]:
        """The rows of a kind by name: those of `names`, or all; a list is a tuple of that type."""
        if names is None:
            names = [name for row_kind, name in map(_kind_and_name, self.journal) if row_kind == kind]
        keys = {name: _key(kind, name) for name in names}
        return {name: _as(row_type, self.journal[key]) for name, key in keys.items() if key in self.journal}

    def missing(self, kind: str, names: Iterable[str]) -> list[str]:
        """The names that have no such row yet, in order, each once."""
        return [name for name in dict.fromkeys(names) if _key(kind, name) not in self.journal]

    def fill(self, steps: Iterable[Step], workers: int = 1, progress: Progress = silent) -> None:
        """Make the rows of steps that are not there; `progress` gets (kind, done, jobs)."""
        for step in steps:
            # One experiment makes several kinds of rows: what their workers import is imported once.
            needed = step.anew or self.missing(step.kind, step.jobs)
            fill(
                self.journal,
                partial(_quietly, step.function),
                {_key(step.kind, name): job for name, job in step.jobs.items()},
                done=partial(progress, step.kind),
                workers=workers if step.side_by_side else 1,
                anew=step.anew,
                one_torch_thread=True,
                context=prepared(step.function.partition(":")[0]) if needed else None,
            )

    def pack(self, path: Path, *, without: str | None = None) -> None:
        """Write the rows but those of a kind, compressed, a line each, as `adopt` reads them.

        Six digits, but for a row's run, whose id is its content.
        """
        rows = [(*_kind_and_name(key), row) for key, row in self.journal.items()]
        lines = [
            json.dumps({"what": kind, "name": name, "row": _rounded(row, 6)}, separators=(",", ":"))
            for kind, name, row in rows
            if kind != without
        ]
        write_bytes(path, lzma.compress("\n".join(lines).encode(), preset=9))

    def adopt(self, packed: Path) -> None:
        """Add the rows of a file that `pack` wrote, but for those that are here already."""
        try:
            lines = [json.loads(line) for line in lzma.decompress(packed.read_bytes()).splitlines()]
            rows = {_key(line["what"], line["name"]): line["row"] for line in lines}
        except (lzma.LZMAError, ValueError, KeyError) as error:
            raise argument_error("from", str(packed), f"a file that --pack wrote ({error})") from error
        for key, row in rows.items():
            if key not in self.journal:
                self.journal[key] = row


def _key(kind: str, name: str) -> str:
    return f"{kind}/{name}"


def _kind_and_name(key: str) -> tuple[str, str]:
    kind, _, name = key.partition("/")
    return kind, name


def _quietly(function: str, job: tuple[Any, ...]) -> Any:
    """No progress bars and notes of transformers: runs are short and many."""
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    module, _, name = function.partition(":")
    return getattr(import_module(module), name)(*job)


def _as(row_type: Any, row: Any) -> Any:
    if isinstance(row, list):
        return tuple(from_json(row_type, part) for part in row)
    return from_json(row_type, row)


def _rounded(row: Any, digits: int) -> Any:
    rounded = as_json(row, digits)
    return rounded | {"run": row["run"]} if isinstance(row, dict) and "run" in row else rounded
