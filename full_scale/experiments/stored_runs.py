"""One store for every experiment: each row is written as it is made, and made once."""

import json
import lzma
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import transformers

from dph_theory.support.errors import argument_error
from dph_theory.support.files import write_bytes, write_json
from dph_theory.support.journal import Journal, fill
from dph_theory.support.processes import prepared
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import as_json, from_json, record
from dph_theory.support.table import Table

PACKAGES = ("numpy", "torch", "transformers", "trl", "peft")


@dataclass(frozen=True)
class StudyOptions:
    """What a command is to run and to write."""

    folder: Path
    quick: bool = False
    only: str | None = None
    """One experiment."""
    seeds: int | None = None
    """At most so many of each."""
    listed: bool = False
    """Whether to run nothing, and report what is there."""
    packed: Path | None = None
    """Rows to go on from."""
    json_path: Path | None = None
    """Where what figures read is written."""
    pack: Path | None = None
    """Where all rows are."""
    workers: int = 1


@dataclass(frozen=True)
class StudyReport:
    """What the command prints."""

    tables: Sequence[Table]
    sentences: Sequence[str]


class RunStore:
    """Rows in a journal, by their kind and the name of the job that made them.

    What comes before a run (a prediction, an expected-gradient run) is a row of its own, made before the
    run is. `bases` is the folder of the models that runs start from. ValueError where the file holds anything
    else.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
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

    def fill(
        self,
        kind: str,
        function: Callable[..., Any],
        jobs: Mapping[str, tuple[Any, ...]],
        *,
        anew: bool = False,
        workers: int = 1,
        progress: Progress = silent,
    ) -> None:
        """Make the rows not there yet, or all `anew`, side by side; `progress` gets (kind, done, jobs).

        A job holds the arguments of its row.
        """
        # One experiment makes several kinds of rows: what their workers import is imported once.
        context = prepared(function.__module__) if anew or self.missing(kind, jobs) else None
        fill(
            self.journal,
            partial(_quietly, function),
            {_key(kind, name): job for name, job in jobs.items()},
            done=partial(progress, kind),
            workers=workers,
            anew=anew,
            one_torch_thread=True,
            context=context,
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


def _quietly(function: Callable[..., Any], job: tuple[Any, ...]) -> Any:
    """No progress bars and notes of transformers: runs are short and many."""
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return function(*job)


def _as(row_type: Any, row: Any) -> Any:
    if isinstance(row, list):
        return tuple(from_json(row_type, part) for part in row)
    return from_json(row_type, row)


def _rounded(row: Any, digits: int) -> Any:
    rounded = as_json(row, digits)
    return rounded | {"run": row["run"]} if isinstance(row, dict) and "run" in row else rounded


def write_record(
    path: Path, kind: str, config: Mapping[str, Any], results: Mapping[str, Any], findings: Iterable[str] = ()
) -> dict[str, Any]:
    """Write the compact record of an experiment, which figures and docs read, and return it."""
    written = record(
        kind, seed=0, config=config, results=results, findings=tuple(findings), packages=PACKAGES
    )
    write_json(path, written)
    return written
