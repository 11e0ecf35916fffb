"""Counts from what `dph evaluate` and `dph demo` store for a run."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..support.errors import argument_error
from ..support.record import read_record

KIND, FILE = "full_scale.evaluation", "evaluation.json"


def evaluation_in(path: Path) -> Path | None:
    """The stored evaluation at this path or in this folder of a run; None if it is something else."""
    if path.is_dir() and (path / FILE).is_file():
        return path / FILE
    return path if path.name == FILE and path.is_file() else None


def evaluation_rows(path: Path, which: str | None) -> Iterator[tuple[int, Any]]:
    """A row for each prompt of the named set, with log ratios and styles, numbered from 1.

    By default the only set there is. Raises ValueError for another record, or a set that is not there.
    """
    sets = read_record(path, KIND, "dph evaluate")["results"]["sets"]
    if which is None and len(sets) == 1:
        which = next(iter(sets))
    if which not in sets:
        raise argument_error("set", which, f"one of {', '.join(sets)} in {path}")
    for number, prompt in enumerate(sets[which]["prompts"], start=1):
        yield number, _row(prompt)


def _row(prompt: Mapping[str, Any]) -> dict[str, Any]:
    ratios = [pi - ref for pi, ref in zip(prompt["log_pi"], prompt["log_ref"], strict=True)]
    correct = zip(prompt["styles"], prompt["correct"], strict=True)
    styles = Counter(style for style, right in correct if right and style is not None)
    return {
        "id": prompt["id"],
        "correct": prompt["correct"],
        "log_ratio": ratios,
        "style": dict(styles) if styles else None,
    }
