"""Counts of a checkpoint from files: JSON lines, CSV, Parquet, and the logs of TRL and verl."""

import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..support.errors import argument_error
from .evaluation import evaluation_in, evaluation_rows
from .rows import Row, row

Numbered = Iterable[tuple[int, Any]]
"""Rows with the line of the file at which each stands."""
_NAMED = 5
"""So many wrong rows are told one by one."""
_VERL_OWN = ("acc", "score")
"""Where verl's logs hold the verdict: the accuracy if the reward function returned one, else the score."""
_TRL_OWN = ("step", "prompt", "completion", "advantage")
"""The columns of TRL's completion logs that are no rewards."""


@dataclass(frozen=True)
class Counts:
    """The rows of a file by id, in the file's order; `cut_off` says that its last line was unfinished."""

    source: str
    rows: Mapping[str | int, Row]
    sha256: str
    cut_off: bool = False


def read_counts(
    path: Path,
    trainer: str | None = None,
    *,
    reward: str | None = None,
    correct_from: float = 1.0,
    allow_cut_off: bool = False,
    prompts: str | None = None,
) -> Counts:
    """The counts in a file of rows (`rows.row`), or in a trainer's own log of completions.

    .csv and .parquet are read through `datasets`, all else as JSON lines. With `trainer` "trl" or "verl" each
    row is one answer, correct where `reward` (the column of that name; by default the only one there is) is
    at least `correct_from`; the prompt's text is its id, and of a folder the file of the last step is read.
    An unfinished last line is left out if `allow_cut_off`. Of a folder of `dph evaluate` the set `prompts` is
    read, by default the only one.
    Raises ValueError naming the file and the line of each of the first wrong rows.
    """
    if trainer is not None and path.is_dir():
        path = _last_step(path)
    evaluation = evaluation_in(path) if trainer is None else None
    path = evaluation or path
    if not path.is_file():
        raise argument_error("file", str(path), "a file of counts; it is not there")
    digest, cut_off = hashlib.sha256(), [False]
    if evaluation is not None:
        numbered: Numbered = evaluation_rows(path, prompts)
        digest.update(path.read_bytes())
    elif path.suffix in (".csv", ".parquet"):
        numbered = _table(path)
        digest.update(path.read_bytes())
    else:
        numbered = _lines(path, digest.update, cut_off if allow_cut_off else None)
    if trainer is None:
        rows = _by_id(path, numbered)
    else:
        rows = _answers(path, numbered, trainer, reward, correct_from)
    if not rows:
        raise argument_error("file", str(path), "at least one row")
    source = path.parent if evaluation is not None else path
    return Counts(str(source), rows, digest.hexdigest(), cut_off[0])


def _each(path: Path, numbered: Numbered, take: Callable[[Any], None]) -> None:
    """Take every row; ValueError with the lines of the first that cannot be."""
    wrong: list[str] = []
    for number, value in numbered:
        try:
            if isinstance(value, ValueError):
                raise value
            take(value)
        except ValueError as error:
            wrong.append(f"{path}:{number}: {error}")
    if wrong:
        more = [f"and {len(wrong) - _NAMED} more"] if len(wrong) > _NAMED else []
        raise ValueError("\n".join(wrong[:_NAMED] + more))


def _lines(
    path: Path, seen: Callable[[bytes], None], cut_off: list[bool] | None
) -> Iterator[tuple[int, Any]]:
    """The values of JSON lines; a line that is none is given as the error, at the end as cut off."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            seen(line)
            if not line.strip():
                continue
            try:
                yield number, json.loads(line)
            except (UnicodeDecodeError, json.JSONDecodeError) as error:
                unfinished = not line.endswith(b"\n")
                if unfinished and cut_off is not None:
                    cut_off[0] = True
                    return
                words = "the file is cut off in this line" if unfinished else f"no JSON: {error}"
                yield number, ValueError(words)


def _table(path: Path) -> Iterator[tuple[int, Any]]:
    """The rows of a CSV or Parquet file; the line of a row counts the header of a CSV as the first."""
    import datasets

    kind = path.suffix.removeprefix(".")
    found = datasets.load_dataset(kind, data_files=str(path), split="train", streaming=True)
    for number, value in enumerate(found, start=2 if kind == "csv" else 1):
        yield number, {name: _plain(_counted(name, entry)) for name, entry in value.items()}


def _counted(name: str, entry: Any) -> Any:
    """A count that stands as text, because another cell of its column holds a word."""
    return int(entry) if name in ("n", "c") and isinstance(entry, str) and entry.isdecimal() else entry


def _plain(entry: Any) -> Any:
    """A table's cell: whole numbers that a gap in the column made floats, lists that CSV holds as text."""
    if isinstance(entry, float) and not math.isfinite(entry):
        return None
    if isinstance(entry, float) and entry.is_integer():
        return int(entry)
    if isinstance(entry, str) and entry[:1] in ("[", "{"):
        try:
            return json.loads(entry)
        except json.JSONDecodeError:
            return entry
    return entry


def _by_id(path: Path, numbered: Numbered) -> dict[str | int, Row]:
    found: dict[str | int, Row] = {}

    def take(value: Any) -> None:
        made = row(value)
        if made.id in found:
            raise argument_error("id", made.id, "each prompt once")
        found[made.id] = made

    _each(path, numbered, take)
    return found


def _answers(
    path: Path, numbered: Numbered, trainer: str, reward: str | None, correct_from: float
) -> dict[str | int, Row]:
    """One row a prompt from a log with one row an answer."""
    prompt_column = {"trl": "prompt", "verl": "input"}.get(trainer)
    if prompt_column is None:
        raise argument_error("from", trainer, "trl or verl")
    counts: dict[str, Counter[int]] = defaultdict(Counter)

    def take(value: Any) -> None:
        if not isinstance(value, Mapping) or prompt_column not in value:
            raise argument_error("row", value, f"an answer of {trainer}, with {prompt_column!r}")
        counts[_text(value[prompt_column])][int(_reward(trainer, reward, value) >= correct_from)] += 1

    _each(path, numbered, take)
    return {text: Row(text, sum(seen.values()), seen[1]) for text, seen in counts.items()}


def _text(prompt: Any) -> str:
    return prompt if isinstance(prompt, str) else json.dumps(prompt, ensure_ascii=False, sort_keys=True)


def _reward(trainer: str, name: str | None, value: Mapping[str, Any]) -> float:
    """The reward of an answer in a log."""
    # A reward that is nan, as JSON lines may hold one, is none.
    numeric = {k: x for k, x in value.items() if isinstance(x, bool | int | float) and not math.isnan(x)}
    if name is None and trainer == "verl":
        name = next((key for key in _VERL_OWN if key in numeric), "score")
    if name is None:
        rewards = [key for key in numeric if key not in _TRL_OWN]
        if len(rewards) != 1:
            raise argument_error("reward", rewards, "one column of rewards; name it")
        name = rewards[0]
    if name not in numeric:
        raise argument_error("reward", name, f"a column of numbers: one of {', '.join(sorted(numeric))}")
    return float(numeric[name])


def _last_step(folder: Path) -> Path:
    """The log of the last step: verl writes 10.jsonl, TRL completions_00010.parquet."""
    steps = {
        int("".join(filter(str.isdigit, path.stem))): path
        for path in folder.iterdir()
        if path.suffix in (".jsonl", ".parquet") and any(map(str.isdigit, path.stem))
    }
    if not steps:
        raise argument_error("folder", str(folder), "a folder of logs, a .jsonl or .parquet file a step")
    return steps[max(steps)]
