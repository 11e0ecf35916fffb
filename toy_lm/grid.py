"""One way to run a grid of settings: each once, reported as it ends, kept where there is a folder."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from dph_theory.support.errors import argument_error
from dph_theory.support.files import write_json
from dph_theory.support.processes import run_jobs
from dph_theory.support.progress import StageProgress
from dph_theory.support.record import as_json, versions

Row: TypeAlias = dict[str, Any]
"""What one setting gave, as it is stored: its facts by name, without those that it has not."""
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
    """make(job) of every job, in their order; done(finished, jobs) is called at once and as each one ends.

    `workers` processes make them. With a folder, made if need be, a row is kept there as soon as it is whole,
    in a file named by all that determines it: its job, and the versions of these packages. What is kept is
    not made again, and an interruption lets the rows under way finish. Raises ValueError for a file there
    that is no row.
    """
    places: list[Path | None] = [None] * len(jobs)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        places = [folder / _name(job, packages) for job in jobs]
    rows = {i: _read(place) for i, place in enumerate(places) if place is not None and place.is_file()}
    done(len(rows), len(jobs))
    missing = [(i, job, places[i]) for i, job in enumerate(jobs) if i not in rows]
    settle = partial(_settle, make)
    finished: Iterator[tuple[tuple[int, Job, Path | None], Row]] = ((job, settle(job)) for job in missing)
    if workers > 1 and len(missing) > 1:
        finished = run_jobs(settle, missing, workers=workers, finish_begun=folder is not None)
    for (i, *_), row in finished:
        rows[i] = row
        done(len(rows), len(jobs))
    return [rows[i] for i in range(len(jobs))]


def _settle(make: Callable[[Job], Row], job: tuple[int, Job, Path | None]) -> Row:
    _, setting, place = job
    row = make(setting)
    if place is not None:
        write_json(place, row)
    return row


def _name(job: Any, packages: Sequence[str]) -> str:
    contents = json.dumps([as_json(job), versions(*packages)], sort_keys=True)
    return f"{hashlib.sha256(contents.encode()).hexdigest()[:16]}.json"


def _read(place: Path) -> Row:
    try:
        row = json.loads(place.read_text(encoding="utf-8"))
    except ValueError as error:
        raise argument_error("folder", str(place), f"a row in JSON; remove the file ({error})") from error
    if not isinstance(row, dict):
        raise argument_error("folder", str(place), "a row in JSON, a mapping; remove the file")
    return row
