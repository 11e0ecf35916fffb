"""Runner for a grid of settings: each computed once, reported as it finishes, stored if there is a folder."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from dph_theory.support.journal import Journal, fill
from dph_theory.support.progress import StageProgress
from dph_theory.support.record import as_json, versions

Row: TypeAlias = dict[str, Any]  # Stored results of one setting by name, without missing ones.
Job = TypeVar("Job")


def run_grid(
    make: Callable[[Job], Row],
    jobs: Sequence[Job],
    *,
    done: StageProgress,
    workers: int = 1,
    folder: Path | None = None,
    packages: Sequence[str] = ("numpy", "torch"),
) -> list[Row]:
    """Return make(job) of every job, in order; done(finished, jobs) is called first and after each job.

    `workers` processes compute. With a folder, created if necessary, each finished row is written to a
        journal there, under a key of everything that determines it: its job, and the versions of these
        packages. Stored rows are not recomputed, and an interruption lets the rows in progress finish.
        Raises ValueError or RefusedError if the file there is not a journal.
    """
    rows: Journal | dict[str, Row] = {}
    names = [str(number) for number in range(len(jobs))]
    if folder is not None:
        rows = Journal(folder / "rows.jsonl", {"kind": "toy_lm.grid"}, dict)
        names = [_digest(job, packages) for job in jobs]
    done(sum(name in rows for name in names), len(jobs))
    side_by_side = workers if workers > 1 and len(jobs) > 1 else None
    named = dict(zip(names, jobs, strict=True))
    fill(rows, make, named, done=done, workers=side_by_side, finish_begun=folder is not None)
    return [rows[name] for name in names]


def _digest(job: Any, packages: Sequence[str]) -> str:
    contents = json.dumps([as_json(job), versions(*packages)], sort_keys=True)
    return hashlib.sha256(contents.encode()).hexdigest()[:16]
